// The page of one job: its document, and the figures of its newest attempt.

import { clock, demand, el, jobLink, seconds, span, svg, table } from "./dom.js";

const WIDTH = 600, HEIGHT = 60;

// How long an attempt may train; without that, how long it may hold its instances.
const runLimit = (job) => job.maxRuntimeSeconds ?? job.limitSeconds;

export function jobPage(job, act, more) {
  const facts = [["State", job.held ? `${job.jobState} (held)` : job.jobState], ["Reason", job.reason.message], ["Priority", job.priority],
    ["Position", job.place ?? ""], ["Team", job.team ?? ""], ["Owner", job.owner ?? ""], ["Needs", demand(job.demand)],
    ["Limit", runLimit(job) ? span(runLimit(job)) : "none"],
    ["Expected", job.expectedRun ? `${span(job.expectedRun.seconds)}, by ${job.expectedRun.runs} earlier jobs` : ""], ["Preemptions", job.preemptions], ["Comment", job.comment ?? ""],
    ["Lost", lost(job)], ["Cost", cost(job)], ["Estimate", estimate(job)], ["Saved", saved(job)], ["Prices", (job.prices ?? []).map((each) => `${each.pool}: ${each.perHour} ${job.currency} an hour from ${each.from}`).join(", ")],
    ["Instance time of ended attempts", Object.entries(job.instanceSeconds).map(([name, time]) => `${name}: ${span(time)}`).join(", ")],
    ["Watches", job.watches.map((each) => `${each.watch} (${each.hosts} hosts)${each.note ? `: ${each.note}` : ""}`).join(", ")],
    ["After", job.dependsOn.map((each) => `${each.job} (${each.condition})${each.ended ? `: ${each.ended}` : ""}`).join(", ")]];
  const ended = ["completed", "failed", "stopped"].includes(job.jobState);
  return [
    el("h2", {}, job.jobName),
    act && !ended ? el("p", { class: "tools" }, job.held ? act("Release", "release") : act("Hold", "hold"), act("Priority", "priority"), act("Stop", "stop")) : null,
    el("p", { class: "tools" }, el("button", { type: "button", id: "do-why", onclick: more.onwhy }, "Why")),
    more.why ? whySection(more.why) : null,
    el("div", { class: "facts" }, table([{ name: "" }, { name: "" }],
      facts.filter(([, value]) => value !== "").map(([name, value]) => [el("strong", {}, name), value]))),
    more.members ? membersSection(more.members) : null,
    el("section", { "aria-label": "Attempts" }, el("h2", {}, "Attempts"),
      table([{ name: "#", number: true }, { name: "Training job" }, { name: "Instances" }, { name: "Status" }, { name: "Start (UTC)" },
        { name: "End (UTC)" }, { name: "Ran", number: true }, { name: "Why" }],
      job.attempts.map((each) => [each.number, each.attemptName, demand(each.demand),
        each.secondaryStatus ?? each.trainingJobStatus ?? each.attemptState,
        each.startedTime ? clock(seconds(each.startedTime)) : "", each.endedTime ? clock(seconds(each.endedTime)) : "",
        each.startedTime ? span((seconds(each.endedTime) ?? more.now) - seconds(each.startedTime)) : "",
        each.failureReason ?? each.reason?.message ?? ""]))),
    ...figureSections(more.figures),
    el("section", { "aria-label": "History" }, el("h2", {}, "History"),
      table([{ name: "Time (UTC)" }, { name: "State" }, { name: "Reason" }],
        job.history.map((step) => [clock(seconds(step.time)), step.jobState, step.reason.message]).reverse())),
  ];
}

function whySection(found) {
  return el("section", { "aria-label": "Why" }, el("p", {}, found.reason.message), found.remedy ? el("p", {}, found.remedy) : null,
    el("p", { class: "soft" }, found.expectedStart ? `Expected start ${clock(seconds(found.expectedStart))} UTC. ` : "", likely("start", found.predictedStart),
      found.expectedEnd ? `Expected end ${clock(seconds(found.expectedEnd))} UTC. ` : "", likely("end", found.predictedEnd), found.note),
    found.ahead.length ? table([{ name: "Ahead" }, { name: "State" }, { name: "Priority", number: true }, { name: "Needs" }],
      found.ahead.map((each) => [jobLink(each.jobName), each.jobState, each.priority, demand(each.demand)])) : null);
}

function likely(what, time) {
  if (!time) return "";
  return `Likely ${what} about ${clock(seconds(time.about))}, between ${clock(seconds(time.from))} and ${clock(seconds(time.until))} UTC. `;
}

function membersSection(members) {
  const names = (part) => [...new Set(members.flatMap((each) => Object.keys(each[part] ?? {})))].sort();
  const parameters = names("parameters"), metrics = names("metrics");
  return el("section", { "aria-label": "Members" }, el("h2", {}, "Members"),
    table([{ name: "#", number: true }, { name: "Job" }, { name: "State" }, ...[...parameters, ...metrics].map((name) => ({ name }))],
      members.map((each) => [each.index, each.made ? jobLink(each.jobName) : each.jobName, each.jobState,
        ...parameters.map((name) => each.parameters[name] ?? ""), ...metrics.map((name) => each.metrics[name] ?? "")])));
}

function cost(job) {
  if (job.cost === null || job.cost === undefined) return "";
  return `${job.cost.toFixed(2)} ${job.currency} for ended attempts${leftOut(job.unpricedSeconds)}`;
}

function estimate(job) {
  if (!job.estimatedCost) return "";
  return `about ${job.estimatedCost.toFixed(2)} ${job.currency} more for spot instances without a bill yet, by spotPerHour`;
}

function saved(job) {
  const total = (seconds) => Object.values(seconds).reduce((sum, each) => sum + each, 0);
  const trained = total(job.savedSeconds ?? {});
  if (!trained) return "";
  const billed = total(Object.fromEntries(Object.keys(job.savedSeconds).map((pool) => [pool, job.billedSeconds?.[pool] ?? 0])));
  const known = job.savedCost !== null && job.savedCost !== undefined;
  const what = known ? `${job.savedCost.toFixed(2)} ${job.currency}` : `${(trained / 3600).toFixed(2)} instance hours`;
  return `${what} by spot instances, ${(100 * trained / (trained + billed)).toFixed(0)}% of their time`;
}

function lost(job) {
  if (!job.lostSeconds) return "";
  const hours = `${(job.lostSeconds / 3600).toFixed(2)} instance hours`;
  if (job.lostCost === null || job.lostCost === undefined) {
    const pools = Object.keys(job.lostUnpricedSeconds ?? {}).sort().join(", ");
    return pools ? `${hours} (no price set for ${pools})` : hours;
  }
  return `${hours}, ${job.lostCost.toFixed(2)} ${job.currency} of the cost${leftOut(job.lostUnpricedSeconds)}`;
}

function leftOut(unpricedSeconds) {
  const unpriced = Object.values(unpricedSeconds ?? {}).reduce((sum, each) => sum + each, 0) / 3600;
  return unpriced ? `, without ${unpriced.toFixed(2)} instance hours of unknown price` : "";
}

function figureSections(figures) {
  if (!figures) return [el("p", { class: "soft" }, "The utilization and the log are read …")];
  const { curves, lines, notes } = figures;
  return [
    curves ? el("section", { "aria-label": "Utilization" }, el("h2", {}, "Utilization"),
      curves.curves.length ? el("div", { class: "curves" }, curves.curves.map((each) => curvePicture(each, curves)))
        : el("p", {}, "CloudWatch has no values yet."),
      el("p", { class: "soft" }, `${curves.attempt}, ${curves.hosts === curves.of_hosts ? "" : `${curves.hosts} of `}`
        + `${curves.of_hosts} host${curves.of_hosts === 1 ? "" : "s"}, a value each ${span(curves.period_s)}`)) : null,
    lines.length ? el("section", { "aria-label": "Log" }, el("h2", {}, "Last lines of the log (UTC)"),
      el("div", { class: "log", id: "log", tabindex: "0", role: "log", "aria-live": "off" }, logLines(lines))) : null,
    notes.length ? el("section", { "aria-label": "Not shown" }, el("h2", {}, "Not shown"), notes.map((each) => el("p", {}, each))) : null,
  ];
}

function logLines(lines) {
  const several = new Set(lines.map((each) => each.host)).size > 1;
  return lines.map((each) => el("p", {}, el("span", { class: "soft" }, clock(each.time_ms / 1000), several ? ` algo-${each.host}` : ""), " ",
    el("bdi", {}, each.text)));
}

function curvePicture(curve, { start_s: start, period_s: period }) {
  const known = curve.percent.filter((each) => each !== null);
  const top = Math.max(100, ...known);
  const x = (place) => (curve.percent.length < 2 ? WIDTH / 2 : (place / (curve.percent.length - 1)) * WIDTH);
  const y = (value) => HEIGHT - 1 - (Math.max(0, value) / top) * (HEIGHT - 2);
  // A value that is missing interrupts the curve.
  const runs = [];
  curve.percent.forEach((value, place) => {
    if (value === null) return;
    if (!place || curve.percent[place - 1] === null) runs.push([]);
    runs.at(-1).push(`${x(place).toFixed(1)},${y(value).toFixed(1)}`);
  });
  const average = known.reduce((sum, each) => sum + each, 0) / known.length;
  const told = `last ${known.at(-1).toFixed(0)} %, average ${average.toFixed(0)} %`;
  return el("figure", {},
    el("figcaption", {}, el("strong", {}, curve.name), ` ${told}`),
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": `${curve.name}: ${told}`, class: "curve" },
      runs.map((each) => (each.length > 1 ? svg("polyline", { points: each.join(" ") })
        : svg("circle", { cx: each[0].split(",")[0], cy: each[0].split(",")[1], r: 2 })))),
    el("div", { class: "soft span" }, el("span", {}, clock(start)), el("span", {}, clock(start + period * (curve.percent.length - 1)))));
}
