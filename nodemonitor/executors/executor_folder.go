package executors

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/pigeon-sched/pigeon/internal/files"
)

// inherited returns the variables of the node monitor's own environment that executors have in
// addition to those of every task: those that the machine's owner has set there for Spark and
// Java.
func inherited() []string {
	return []string{
		"JAVA_HOME", "SPARK_LOCAL_DIRS", "SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME", "SPARK_PUBLIC_DNS", "SPARK_CONF_DIR",
		"HADOOP_HOME", "HADOOP_CONF_DIR", "PYSPARK_PYTHON", "PYTHONPATH", "LD_LIBRARY_PATH",
	}
}

// findAccount finds the account under which the executor runs.
func (p *preparation) findAccount() *end {
	account, f := p.cfg.Accounts.Of(p.x.app.Submitter)
	if f != nil {
		return p.x.refusal(f.What, "finding as whom it runs", f.Next)
	}
	p.account = account
	return nil
}

// makeFolder makes the folder of the executor, with its files in it. Only the user may enter it;
// it has copies of the files where that is not the node monitor's user: those below
// work_dir/files belong to the node monitor, for all applications.
func (p *preparation) makeFolder() *end {
	x := p.x
	err := files.MakeFolder(p.cfg.Folder, x.app.ID, x.id)
	if err == nil {
		err = writeOf(filepath.Join(p.cfg.Folder, x.app.ID), x.app.ID, x.app.Submitter)
	}
	put := os.Symlink
	if as := p.account.As; as != nil {
		put = func(from, to string) error { return copyFor(from, to, int(as.UID), int(as.GID)) }
	}
	for _, f := range x.app.Template.Files {
		if err == nil {
			err = put(p.cfg.Files.Path(f.SHA256), filepath.Join(x.folder, f.Name))
		}
	}
	if err == nil {
		err = p.giveFolder(p.cfg.Folder)
	}
	if err != nil {
		return x.refusal("its folder cannot be made: "+err.Error(), "making "+x.folder, "free disk space on the node, or give it another work_dir")
	}
	return nil
}

// giveFolder gives the executor's folder below a root to the executor's user, who may pass the one
// above it.
func (p *preparation) giveFolder(root string) error {
	as := p.account.As
	if as == nil {
		return nil
	}
	if err := os.Chmod(filepath.Join(root, p.x.app.ID), folderMode(p.cfg.Accounts)); err != nil {
		return err
	}
	return files.Give(int(as.UID), int(as.GID), root, p.x.app.ID, p.x.id)
}

// copyFor copies a file such that only the user may read it. It runs before the folder belongs
// to the user: nothing there can be replaced meanwhile.
func copyFor(from, to string, uid, gid int) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // only read
	copied, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(copied, source)
	if err == nil {
		err = copied.Chown(uid, gid)
	}
	return errors.Join(err, copied.Close())
}
