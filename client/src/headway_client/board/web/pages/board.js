// The board: which page is shown, reading from the local server, keys and changes.

import { clock, el, safe } from "./dom.js";
import { jobPage } from "./job.js";
import { jobsPage, nowPage, teamsPage, workflowsPage } from "./pages.js";
import { call, enter } from "./session.js";
import { timelinePage } from "./timeline.js";

const VISIBLE_MS = 2000, HIDDEN_MS = 30000, LISTED = 100;
// To the queue a held job is a waiting one.
const HELD = "pending preempted held";
const PAGES = [["now", "Now"], ["timeline", "Timeline"], ["jobs", "Jobs"], ["teams", "Teams"], ["workflows", "Workflows"]];

const state = { summary: null, forecast: null, error: "", allowsChanges: false };
const view = { text: "", states: "live", sort: null };
const kept = new Map();
const etags = new Map();
const refusals = new Map();
let readAt = 0, lost = "", timer = 0, explained = { name: "", why: null }, figured = { name: "", figures: null, isRead: false };
const main = document.getElementById("main");

// What the server has refused for some seconds is asked for again after them.
async function read(path) {
  const refusal = refusals.get(path);
  if (refusal && Date.now() < refusal.until) throw refusal;
  refusals.delete(path);
  const known = kept.get(path);
  const answer = await call(path, { headers: known ? { "If-None-Match": etags.get(path) } : {} });
  const age = Number(answer.headers.get("Headway-Board-Age") ?? 0);
  if (answer.status === 304) return { document: known, age };
  const document = await answer.json();
  if (!answer.ok) throw refused(path, document.error, answer.headers.get("Retry-After"));
  kept.set(path, document);
  etags.set(path, answer.headers.get("ETag"));
  return { document, age };
}

function refused(path, message, seconds) {
  const error = new Error(message);
  if (seconds) refusals.set(path, Object.assign(error, { until: Date.now() + 1000 * Number(seconds) }));
  return error;
}

async function poll() {
  clearTimeout(timer);
  try {
    const { document: found, age } = await read(`/api/board?hidden=${document.hidden ? 1 : 0}`);
    Object.assign(state, found);
    readAt = Date.now() - age * 1000;
    lost = found.error;
  } catch (error) {
    lost = error.message || "the board's server does not respond";
  }
  await draw();
  timer = setTimeout(poll, document.hidden ? HIDDEN_MS : VISIBLE_MS);
}

function now() {
  return state.readTime + (Date.now() - readAt) / 1000;
}

function route() {
  const [page, name] = location.hash.replace(/^#/, "").split("/");
  if (page === "job" && name) return { page, name: decoded(name) };
  return { page: PAGES.some(([each]) => each === page) ? page : "now" };
}

// A part of the address, which somebody may have typed. A lone % is no code of a character, and stands for itself.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// The page that the address names; only its own content is ever shown.
function pageKey({ page, name } = route()) {
  return name === undefined ? page : `${page}/${name}`;
}

async function draw() {
  const here = route();
  drawHead(here.page);
  // A tab that nobody sees causes no calls but those of the poller.
  if (!state.summary || document.hidden) return;
  if (main.dataset.page !== pageKey(here)) show(pageKey(here), [reading(here.name ?? here.page)]);
  const failed = (error) => tell(pageKey(here), error);
  // Its figures may take seconds, for which the next picture does not wait.
  if (here.page === "job") drawJob(here.name).catch(failed);
  else await drawPage(here.page).catch(failed);
}

// Stands where content will be, and says why there is none yet.
function reading(what) {
  return el("p", { class: "soft", id: "reading", role: "status" }, `Reading ${what} …`);
}

async function drawPage(page) {
  if (page === "now") show(page, nowPage(state, now()));
  else if (page === "timeline") show(page, timelinePage(state, (await read("/api/timeline")).document, now()));
  else if (page === "teams") show(page, teamsPage(state.summary));
  else if (page === "workflows") show(page, workflowsPage(await jobs("live")));
  else await drawJobs();
}

function tell(key, { message }) {
  if (key !== pageKey()) return;
  const note = document.getElementById("reading");
  if (note) note.textContent = safe(message);
  else say(message);
}

function drawHead(page) {
  const nav = document.getElementById("nav");
  nav.replaceChildren(...PAGES.map(([each, title]) => el("a", { href: `#${each}`, "aria-current": each === page ? "page" : null }, title)));
  const status = document.getElementById("state");
  status.className = lost ? "lost" : "";
  if (lost) status.textContent = safe(`Not connected${readAt ? `, as of ${Math.round((Date.now() - readAt) / 1000)} s ago` : ""}: ${lost}`);
  else if (state.summary) {
    const { running, stopping, waiting, held, moreHeld } = state.summary.counts;
    status.textContent = `${running} running, ${stopping} stopping, ${waiting} waiting, ${held ?? 0}${moreHeld ? "+" : ""} held, ${clock(now())} UTC`;
  }
}

// Replaces the page, unless another one was opened meanwhile, or somebody has selected text of it. The focus stays on the
// same link.
function show(key, children) {
  if (key !== pageKey()) return;
  const selection = document.getSelection();
  if (main.dataset.page === key && !selection.isCollapsed && main.contains(selection.anchorNode)) return;
  const focused = main.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  main.dataset.page = key;
  main.replaceChildren(...children.flat().filter(Boolean));
  if (focused) [...main.querySelectorAll("a")].find((each) => each.getAttribute("href") === focused)?.focus();
}

async function jobs(states) {
  const query = states === "live" ? "" : `?${states.replace(" held", "").split(" ").map((each) => `state=${each}`).join("&")}`;
  return (await read(`/api/jobs${query}`)).document.jobs;
}

async function drawJobs() {
  const { states } = view;
  const all = await jobs(states);
  if (states !== view.states) return;
  const found = view.states === HELD ? all.filter((job) => job.held) : all;
  const told = listNote(all.length, found.length);
  const note = document.getElementById("list-note");
  if (note) note.textContent = told;
  const onsort = (place) => {
    view.sort = { place, down: view.sort?.place === place && !view.sort.down };
    draw().then(() => main.querySelectorAll("th button")[place].focus());
  };
  const rows = jobsPage(found, view, onsort);
  const old = document.getElementById("filter") ? main.querySelector("table, #reading") : null;
  if (old) {
    const focused = old.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    old.replaceWith(rows);
    if (focused) [...rows.querySelectorAll("a")].find((each) => each.getAttribute("href") === focused)?.focus();
    return;
  }
  const filter = el("input", { id: "filter", type: "search", value: view.text, oninput: (event) => { view.text = event.target.value; draw(); } });
  const onchoice = (event) => {
    view.states = event.target.value;
    main.querySelector("table")?.replaceWith(reading("jobs"));
    draw();
  };
  const choice = el("select", { id: "states", onchange: onchoice },
    [["live", "not ended"], ["running stopping", "running"], ["pending preempted", "waiting"], [HELD, "held"], ["completed failed stopped", "ended"]]
      .map(([value, text]) => el("option", { value, selected: value === view.states }, text)));
  show("jobs", [el("div", { class: "tools" }, el("label", { for: "filter" }, "Filter"), filter, el("label", { for: "states" }, "State"), choice,
    el("span", { class: "soft", id: "list-note", role: "status" }, told)), rows]);
}

function listNote(read, held) {
  const isAll = read < LISTED, more = isAll ? "" : `; \`headway queue${view.states === HELD ? " --state held" : ""}\` lists all`;
  if (view.states === HELD) return `${held} held of the ${isAll ? "" : "first "}${read} that wait${more}`;
  return `${isAll ? "" : "the first "}${read} job${read === 1 ? "" : "s"}${more}`;
}

async function drawJob(name) {
  const { document: job } = await read(`/api/jobs/${encodeURIComponent(name)}`);
  const act = state.allowsChanges
    ? (title, action) => el("button", { type: "button", id: `do-${action}`, onclick: () => change(name, action) }, title) : null;
  const path = `/api/jobs/${encodeURIComponent(name)}`;
  const members = job.array ? (await read(`${path}/members`)).document.members : null;
  // What was explained is shown until another job is opened.
  if (explained.name !== name) explained = { name, why: null };
  const onwhy = async () => {
    try {
      explained = { name, why: (await read(`${path}/explanation`)).document };
      await draw();
    } catch (error) {
      say(error.message);
    }
  };
  if (figured.name !== name) figured = { name, figures: null, isRead: false };
  const current = figured;
  const redraw = () => {
    const focused = document.activeElement?.id, log = scrolled();
    show(`job/${name}`, jobPage(job, act, { onwhy, why: explained.why, members, figures: current.figures, now: now() }));
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    scrollTo(log);
  };
  redraw();
  if (current.isRead) return;
  // CloudWatch may take seconds, for which the rest of the page does not wait.
  current.isRead = true;
  const found = await read(`${path}/figures`).then((answer) => answer.document,
    (error) => ({ curves: null, lines: [], notes: [error.message] })).finally(() => { current.isRead = false; });
  const isNew = current.figures !== found;
  current.figures = found;
  if (isNew && figured === current && route().name === name) redraw();
}

// The log shows its end, unless somebody has scrolled back in it.
function scrolled() {
  const log = main.querySelector(".log");
  return log && log.scrollTop + log.clientHeight < log.scrollHeight - 4 ? log.scrollTop : null;
}

function scrollTo(place) {
  const log = main.querySelector(".log");
  if (log) log.scrollTop = place ?? log.scrollHeight;
}

const QUESTIONS = { hold: "Hold", release: "Release", stop: "Stop" };

async function change(name, action) {
  let body = null;
  if (action === "priority") {
    const text = await ask(`Priority of ${name}, 0 to 9999`, { input: true });
    if (text === null) return;
    if (!/^[0-9]{1,4}$/.test(text.trim())) return say("A priority is a whole number from 0 to 9999.");
    body = JSON.stringify({ priority: Number(text) });
  } else if (!(await ask(`${QUESTIONS[action]} ${name}?`))) return;
  const headers = body ? { "Content-Type": "application/json" } : {};
  try {
    const answer = await call(`/api/jobs/${encodeURIComponent(name)}/${action}`, { method: "POST", headers, body });
    const found = await answer.json();
    say(answer.ok ? `${found.jobName}: ${found.jobState}, ${found.reason.message}` : found.error);
  } catch {
    say("The board's server does not respond; the request may still be carried out.");
  }
  await poll();
}

function ask(question, { input = false } = {}) {
  const dialog = document.getElementById("question");
  const line = input ? el("input", { type: "text", inputmode: "numeric", "aria-labelledby": "question-text" }) : null;
  document.getElementById("question-text").textContent = safe(question);
  dialog.querySelector("input")?.remove();
  if (line) document.getElementById("question-text").after(line);
  return new Promise((resolve) => {
    const done = (answer) => { dialog.close(); resolve(answer); };
    document.getElementById("question-yes").onclick = () => done(line ? line.value : true);
    document.getElementById("question-no").onclick = () => done(line ? null : false);
    dialog.oncancel = () => resolve(line ? null : false);
    if (line) line.onkeydown = (event) => { if (event.key === "Enter") done(line.value); };
    dialog.showModal();
    (line ?? document.getElementById("question-no")).focus();
  });
}

function say(text) {
  const message = document.getElementById("message");
  message.textContent = safe(text);
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { message.textContent = ""; }, 8000);
}

function help() {
  const dialog = document.getElementById("help");
  const keys = [["1 to 5", "the pages"], ["/", "filter the jobs"], ["j, k", "the next, the previous job"], ["Enter", "open the job"],
    ["Tab", "the next control"], ["?", "these keys"], ["Escape", "close"]];
  dialog.replaceChildren(el("h2", {}, "Keys"), ...keys.map(([key, text]) => el("p", {}, el("strong", {}, key), ` ${text}`)),
    el("button", { type: "button", onclick: () => dialog.close() }, "Close"));
  dialog.showModal();
}

function step(by) {
  const links = [...main.querySelectorAll("tbody a")];
  const place = links.indexOf(document.activeElement);
  links[place < 0 ? 0 : Math.min(links.length - 1, Math.max(0, place + by))]?.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches("input, select") || document.querySelector("dialog[open]")) return;
  const place = "12345".indexOf(event.key);
  if (event.key.length === 1 && place >= 0) location.hash = `#${PAGES[place][0]}`;
  else if (event.key === "?") help();
  else if (event.key === "j") step(1);
  else if (event.key === "k") step(-1);
  else if (event.key === "/") {
    event.preventDefault();
    location.hash = "#jobs";
    draw().then(() => document.getElementById("filter")?.focus());
  }
});
document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });
// A new link that somebody has pasted into the address changes its fragment only.
window.addEventListener("hashchange", () => enter().then(draw, (error) => say(error.message)));
await enter().catch((error) => say(error.message));
poll();
