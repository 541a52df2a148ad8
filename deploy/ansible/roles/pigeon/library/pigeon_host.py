#!/usr/bin/python
# A host of a cluster that 'pigeon cluster plan' planned: what it has, and every change to it.
"""The module of the role 'pigeon'; roles/pigeon/tasks has its calls.

do=look     compares the host with its plan; changes nothing. Returns refused: why it must be left as it is.
do=prepare  makes the folders and the daemons' user, and marks the host as one of this cluster.
do=write    has the new program count, writes the files that differ, stops and removes what the plan has
            no more. Returns needs: for each role start, restart or nothing, with _leading where it leads.
do=start, do=restart    of the daemon of a role: returns when it serves.
do=stop     of the daemon of a role, also of one that only an earlier plan has.
do=remove   removes everything that was put there; keep_data spares journals, streams and outputs.
"""

import base64
import glob
import hashlib
import json
import os
import platform
import pwd
import grp
import re
import shutil
import time
import urllib.error
import urllib.request

from ansible.module_utils.basic import AnsibleModule

ROLES = ["nats", "master", "frontend", "node"]  # in the order in which they start
USER = "pigeon"  # of frontends, masters and NATS servers under systemd
LEADS = {"master": "pigeon_master_leads", "frontend": "pigeon_frontend_leads"}


def digest(path):
    """Returns the mode and SHA-256 of a file, None where there is none."""
    try:
        with open(path, "rb") as f:
            return os.fstat(f.fileno()).st_mode & 0o7777, hashlib.sha256(f.read()).hexdigest()
    except FileNotFoundError:
        return None


def get(url, wait=2):
    """Returns the status, the headers and the text of a page of this host."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=wait) as answer:
            return answer.status, answer.headers, answer.read(1 << 20).decode(errors="replace")
    except urllib.error.HTTPError as e:
        return e.code, e.headers, e.read(500).decode(errors="replace")
    except OSError as e:
        return 0, {}, str(e)


def executable(pid):
    """Returns the file that a process runs, "" where the kernel does not tell."""
    try:
        return os.readlink("/proc/%s/exe" % pid)
    except OSError:
        return ""


class Host:
    def __init__(self, module):
        self.module, self.plan = module, module.params["manifest"]
        root = self.plan.get("prefix") or ""
        self.root, self.etc, self.lib = root, root + "/etc/pigeon", root + "/var/lib/pigeon"
        self.bin, self.run, self.logs = root + "/opt/pigeon/bin", root + "/run/pigeon", root + "/var/log/pigeon"
        self.systemd = self.plan["service_manager"] == "systemd"
        self.program = module.params["program"]
        self.listed = self.read(self.etc + "/manifest.json")  # what an earlier run put here, None for nothing
        self.started = self.read(self.etc + "/started.json") or {}  # digest by role

    def read(self, path):
        try:
            with open(path) as f:
                return json.load(f)
        except FileNotFoundError:
            return None
        except ValueError as e:
            self.module.fail_json(msg="%s cannot be read: %s; replace it by that of the plan's folder" % (path, e))

    def put(self, path, text, mode=0o644, group=None):
        """Writes a file whole or not at all."""
        temporary = path + ".new"
        with open(temporary, "wb") as f:
            os.fchmod(f.fileno(), 0o600)
            f.write(text)
            f.flush()
            os.fsync(f.fileno())
            os.fchown(f.fileno(), 0 if os.getuid() == 0 else -1, group if group is not None else -1)
            os.fchmod(f.fileno(), mode)
        os.rename(temporary, path)

    def shell(self, *words, **options):
        status, out, err = self.module.run_command(list(words))
        if status and options.get("must", True):
            self.module.fail_json(msg="%s: %s" % (" ".join(words), (err or out).strip()))
        return status, out.strip()

    # The daemons

    def service(self, verb, unit, systemd, must=True):
        if self.systemd:
            return self.shell("systemctl", *systemd, must=must)
        return self.shell(self.bin + "/pigeon-service", verb, unit, must=must)

    def pid(self, unit):
        if not self.systemd and not os.path.exists(self.bin + "/pigeon-service"):
            return ""
        number = self.service("pid", unit, ["show", "-p", "MainPID", "--value", unit], must=False)[1]
        return "" if number == "0" else number

    def ended(self, unit):
        """Whether the daemon has ended and nothing starts it again, as after a mistake in its settings."""
        return self.service("ended", unit, ["is-failed", "-q", unit], must=False)[0] == 0

    def log(self, unit):
        if self.systemd:
            return self.shell("journalctl", "-u", unit, "-n", "5", "--no-pager", "-o", "cat", must=False)[1]
        return self.service("log", unit, [], must=False)[1]

    def stop(self, service):
        unit = service["unit"]
        if self.systemd:
            self.shell("systemctl", "disable", "-q", "--now", unit, must=False)
            if self.shell("systemctl", "is-active", "-q", unit, must=False)[0] == 0:
                self.module.fail_json(msg="%s does not stop" % unit)
        elif os.path.exists(self.bin + "/pigeon-service"):
            self.service("stop", unit, [])

    def services(self, role):
        """Returns the daemon of a role, by the plan or by an earlier one, in a list."""
        mine = [s for s in self.plan["services"] if s["role"] == role]
        return mine or [s for s in (self.listed or {}).get("services") or [] if s["role"] == role]

    def wanted(self, role):
        """Returns the digest of what the daemon of a role starts with."""
        files = [f["sha256"] for f in self.plan["files"] if role in (f.get("of") or [])]
        return hashlib.sha256(" ".join([self.program] + files).encode()).hexdigest()

    def needs(self):
        needs = []
        for s in self.plan["services"]:
            role = s["role"]
            if not self.pid(s["unit"]):
                needs.append("start_" + role)
            elif self.started.get(role) != self.wanted(role):
                needs.append("restart_" + role + ("_leading" if self.leads(s) else ""))
        return needs

    def leads(self, service):
        metric = LEADS.get(service["role"])
        if not metric:
            return False
        text = get(re.sub("/(readyz|healthz)$", "/metrics", service["ready"]))[2]
        return bool(re.search("^%s 1$" % metric, text, re.MULTILINE))

    def begin(self, role, again):
        """Starts or restarts a daemon and waits until its own process serves."""
        for s in [s for s in self.plan["services"] if s["role"] == role]:
            unit, old = s["unit"], self.pid(s["unit"])
            if self.module.check_mode:
                return True
            if not again:
                self.service("start", unit, ["enable", "-q", "--now", unit])
            elif role == "node":  # leaves what runs to its next process
                self.service("reload", unit, ["reload", unit])
            else:
                self.service("restart", unit, ["restart", unit])
            self.await_ready(s, old if again else "")
            self.started[role] = self.wanted(role)
            self.put(self.etc + "/started.json", json.dumps(self.started, sort_keys=True).encode())
            return True
        return False

    def await_ready(self, service, old):
        unit, why, end = service["unit"], "its process does not change", time.time() + self.module.params["wait"]
        while time.time() < end:
            pid = self.pid(unit)
            if pid and pid != old:
                status, headers, text = get(service["ready"])
                answers = headers.get("Pigeon-Process") or pid  # NATS servers do not say it
                if status == 200 and answers == pid:
                    return
                why = text if status != 200 else "process %s, which is not this daemon, answers at %s" % (answers, service["ready"])
            if self.ended(unit):
                why = "it ended, and nothing starts it again"
                break
            time.sleep(0.1)
        self.module.fail_json(msg="the %s does not serve: %s; the end of its log: %s" % (service["role"], why.strip()[:500], self.log(unit)))

    # What the host has

    def refused(self):
        """Returns why the host must be left as it is, None when it need not."""
        had, plan = self.listed, self.plan
        if had is None:
            running = [s["unit"] for s in plan["services"] if self.pid(s["unit"])]
            ca = self.etc + "/ca.pem"  # an administrator puts it there for commands, as client.yaml
            known = [f["sha256"] for f in plan["files"] if f["path"] == ca]
            foreign = [p for p in glob.glob(self.etc + "/*") if os.path.basename(p) != "client.yaml" and not (p == ca and digest(p)[1] in known)]
            if foreign or running:
                return "it has an installation of Pigeon that is not of this cluster (%s); remove that installation and its settings, or leave the host out" % (foreign + running)[0]
            return None
        if had["cluster"] != plan["cluster"]:
            return "it belongs to the cluster %s; remove it there, or leave it out here" % had["cluster"]
        if had["host"] != plan["host"]:
            return "it is the host %s of this cluster; correct the address in the inventory" % had["host"]
        if had["service_manager"] != plan["service_manager"]:
            return "its daemons are started by service_manager %s, and shall be by %s; remove it with the former plan first" % (had["service_manager"], plan["service_manager"])
        return None

    def unfit(self):
        """Returns why the plan or the program does not suit the host, None when both do."""
        ca = [[f["sha256"] for f in m.get("files") or [] if f["path"] == self.etc + "/ca.pem"] for m in (self.listed or {}, self.plan)]
        if ca[0] and ca[1] and ca[0] != ca[1]:
            return "its certificates are of another authority than that of the plan's folder; use the folder with its authority, or remove the cluster with pigeon_keep_data and install it again"
        new = self.module.params["version"] or {}
        goos, _, arch = (new.get("platform") or "").partition("/")
        machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(arch)
        if machine and (goos != platform.system().lower() or machine != platform.machine()):
            return "its system is %s %s, and the program is for %s" % (platform.system(), platform.machine(), new["platform"])
        return self.incompatible(new.get("version"))

    def incompatible(self, new):
        """A daemon works with those that are at most one minor version away."""
        names = {os.path.realpath(self.bin + "/pigeon")} | {executable(self.pid(s["unit"])) for s in self.plan["services"]}
        for name in sorted(names):
            if not os.access(name, os.X_OK) or os.path.basename(name) == self.program:
                continue
            status, out = self.shell(name, "version", "-o", "json", must=False)
            have = json.loads(out)["version"] if status == 0 else ""
            minors = [re.match(r"v?(\d+)\.(\d+)\.", v or "") for v in (have, new)]
            if all(minors) and (minors[0].group(1) != minors[1].group(1) or abs(int(minors[0].group(2)) - int(minors[1].group(2))) > 1):
                return "versions %s and %s are more than one minor version apart; upgrade to each minor version between them in turn" % (have, new)
        return None

    def prepare(self):
        folders = [self.etc, self.bin, self.lib, self.run, self.logs] + [os.path.dirname(f["path"]) for f in self.plan["files"]]
        missing = [f for f in folders if not os.path.isdir(f)]
        if not self.module.check_mode:
            for f in missing:
                os.makedirs(f, exist_ok=True)
            if self.listed is None:
                empty = dict(self.plan, services=[], files=[])
                self.put(self.etc + "/manifest.json", json.dumps(empty, indent=2).encode())
        user = self.systemd and not self.has_user()
        if user and not self.module.check_mode:
            self.shell("useradd", "--system", "--user-group", "--home-dir", "/var/lib/pigeon", "--no-create-home", "--shell", "/usr/sbin/nologin", USER)
        return bool(missing) or self.listed is None or user

    @staticmethod
    def has_user():
        try:
            return bool(pwd.getpwnam(USER))
        except KeyError:
            return False

    def write(self):
        changes, plan, before = [], self.plan, self.listed or {}
        paths, units = [f["path"] for f in plan["files"]], [s["unit"] for s in plan["services"]]
        link, check = self.bin + "/pigeon", self.module.check_mode
        if not os.path.islink(link) or os.readlink(link) != self.program:
            changes.append("the program")
            if not check:
                self.count()
        for s in before.get("services") or []:
            if s["unit"] not in units:
                changes.append("stop " + s["role"])
                if not check:
                    self.stop(s)
        group = grp.getgrnam(USER).gr_gid if self.systemd and self.has_user() else None
        for f in plan["files"]:
            if digest(f["path"]) != (f["mode"], f["sha256"]):
                changes.append(f["path"])
                if not check:
                    self.put(f["path"], base64.b64decode(self.module.params["contents"][f["path"]]), f["mode"], group if f.get("daemons") else None)
        for f in before.get("files") or []:
            if f["path"] not in paths and os.path.exists(f["path"]):
                changes.append(f["path"] + " removed")
                if not check:
                    os.remove(f["path"])
        if before != plan:
            changes.append("manifest.json")
            if not check:
                self.put(self.etc + "/manifest.json", json.dumps(plan, indent=2).encode())
        if self.systemd and not check and any("/systemd/system/" in c for c in changes):
            self.shell("systemctl", "daemon-reload")
        return changes

    def count(self):
        """Has the program that was copied count; of the others, the former and those that run stay."""
        new, link = self.bin + "/" + self.program, self.bin + "/pigeon"
        self.shell(new, "version")  # or it is for another machine
        stay = {new} | ({os.path.realpath(link)} if os.path.islink(link) else set())
        stay |= {executable(os.path.basename(p)) for p in glob.glob("/proc/[0-9]*")}
        os.symlink(self.program, link + ".new")
        os.rename(link + ".new", link)
        for old in glob.glob(self.bin + "/pigeon-*"):
            if re.search("/pigeon-[0-9a-f]{16}$", old) and old not in stay:
                os.remove(old)

    def remove(self):
        if self.listed is None:
            return []
        gone = [self.root + "/opt/pigeon", self.run, self.logs] + ([] if self.module.params["keep_data"] else [self.lib])
        if self.systemd:
            gone += [f["path"] for f in (self.plan["files"] + (self.listed.get("files") or [])) if "/systemd/system/" in f["path"]]
        gone = sorted({p for p in gone if os.path.exists(p)}) + [self.etc]  # the manifest last: until then the host is known
        if self.module.check_mode:
            return gone
        for path in gone:
            if os.path.isdir(path):
                shutil.rmtree(path)
            else:
                os.remove(path)
        for folder in {os.path.dirname(p) for p in gone if p.endswith(".conf")}:
            if not os.listdir(folder):
                os.rmdir(folder)
        if self.systemd:
            self.shell("systemctl", "daemon-reload")
            if self.has_user() and not self.module.params["keep_data"]:
                self.shell("userdel", USER)
        if self.root:  # empty folders were made for the cluster
            for folder in ("/etc", "/opt", "/run", "/var/lib", "/var/log", "/var", ""):
                if os.path.isdir(self.root + folder) and not os.listdir(self.root + folder):
                    os.rmdir(self.root + folder)
        return gone


def main():
    module = AnsibleModule(supports_check_mode=True, argument_spec={
        "do": {"required": True, "choices": ["look", "prepare", "write", "start", "restart", "stop", "remove"]},
        "manifest": {"type": "dict", "required": True},
        "program": {"default": ""}, "version": {"type": "dict"}, "role": {"choices": ROLES},
        "contents": {"type": "dict", "no_log": True}, "wait": {"type": "int", "default": 60}, "keep_data": {"type": "bool", "default": False},
    })
    os.umask(0o022)
    host, do, role = Host(module), module.params["do"], module.params["role"]
    refused = host.refused()
    if do == "look":
        module.exit_json(changed=False, refused=refused or host.unfit() or "", absent=host.listed is None)
    if refused:
        module.fail_json(msg=refused)
    if do == "prepare":
        module.exit_json(changed=host.prepare())
    if do == "write":
        changes = host.write()
        module.exit_json(changed=bool(changes), changes=changes, needs=host.needs())
    if do in ("start", "restart"):
        module.exit_json(changed=host.begin(role, do == "restart"))
    if do == "stop":
        running = [s for s in host.services(role) if host.listed is not None and (host.systemd or os.path.exists(host.bin + "/pigeon-service"))]
        for s in running if not module.check_mode else []:
            host.stop(s)
        module.exit_json(changed=bool(running))
    changes = host.remove()
    module.exit_json(changed=bool(changes), changes=changes)


if __name__ == "__main__":
    main()
