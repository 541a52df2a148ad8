import { byId, setText, later } from "./dom.js";
import { count, plural } from "./drawing/format.js";
import { follow } from "./stream.js";
import { Store } from "./store.js";
import { SlotMap } from "./map.js";
import { Nodes } from "./nodes.js";
import { Jobs } from "./jobs.js";
import { Panel } from "./panel.js";
import { Shares } from "./shares.js";
import { Applications } from "./applications.js";
import { drawHour } from "./hour.js";
import { drawGroups, drawDaemons, drawAway } from "./groups.js";

const store = new Store(changed);
const panel = new Panel(store), map = new SlotMap(byId("map"), store, job => panel.open(job)), nodes = new Nodes(store), jobs = new Jobs(store, j => panel.open(j));
new Shares(byId("shares"), store);
new Applications(byId("applications"), store);

const drawCluster = later(() => {
  const groups = store.groups, sum = key => groups.reduce((n, g) => n + (g[key] || 0), 0);
  setText(byId("totals"), `${plural(store.nodes.size, "node")}, ${plural(sum("workers"), "worker")}, ${count(sum("busy_general") + sum("busy_reserved"))} busy, ${plural(sum("queued_short") + sum("queued_long"), "task")} queued`);
  drawGroups(byId("groups"), groups);
  drawDaemons(byId("daemons"), groups);
  if (store.you) setText(byId("you"), identity(store.you));
});

function identity(you) {
  const who = you.name || (you.role ? "a process of the daemon's user" : "nobody who was identified");
  return `You are ${who}${you.role ? `, ${you.role}` : ""}${you.proof ? ` (proven by: ${you.proof})` : ""}`;
}

const drawAges = later(() => {
  drawAway(byId("away"), store.nodes.values(), store.departed, store.time);
  nodes.older();
});

const hour = later(() => drawHour(byId("hour"), store.hour, store.groups, store.time));

function changed(what) {
  if (what.hour || what.groups) hour();
  if (what.time) drawAges();
  if (what.groups || what.departed || what.nodes) drawCluster();
  if (what.nodes) { map.changed(); nodes.changed(); }
  if (what.jobs) jobs.changed();
}

let said = "";
function say(state, reason) {
  const text = state === "live" ? (store.problem ? `partly live: ${store.problem}` : "live") : state === "paused" ? "paused while hidden" : `no answer: ${reason}; what is shown is old`;
  if (text !== said) setText(byId("fresh"), said = text);
  byId("fresh").className = text === "live" ? "" : "stale";
}

// openNamed opens the job that the address names: the page of another frontend has led here, to this page
// anew or to a tab that shows it already.
let named = null;
function readAddress() {
  named = new URLSearchParams(location.hash.slice(1)).get("job");
  openNamed();
}

function openNamed() {
  if (!named || !store.you) return;
  panel.open({ job: named, frontend: store.you.frontends[0] });
  named = null;
}

addEventListener("hashchange", readAddress);
readAddress();
follow(e => { store.apply(e); openNamed(); }, say);
