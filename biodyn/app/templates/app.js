"use strict";
const base = document.body.dataset.base;
const $ = (id) => document.getElementById(id);

function say(text, good) {
  const place = $("message");
  place.textContent = text;
  place.className = good ? "good" : "";
  place.hidden = !text;
}

async function post(name, body) {
  try {
    const answer = await fetch(`${base}/${name}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    const values = await answer.json();
    if (answer.ok) return values;
    say(values.error);
  } catch (error) {
    say("biodyn does not answer. Was it closed? Start it again; nothing that was saved is lost.");
  }
  return null;
}

// -- run and progress -----------------------------------------------------------------------------------------------
let wasRunning = false;
let shown = 0;
async function poll() {
  let state;
  try {
    state = await (await fetch(`${base}/state`)).json();
  } catch (error) {
    $("progress").textContent = "biodyn does not answer";
    setTimeout(poll, 3000);
    return;
  }
  const bad = state.outcomes.filter((one) => one.status === "failed").length;
  $("progress").textContent = state.running
    ? `${state.step}: ${state.done} of ${state.total || "…"} walks${bad ? `, ${bad} failed` : ""}`
    : state.watching ? "Waiting for new files" : "";
  $("cancel").hidden = !state.running;
  const table = $("recordings");
  if (table && state.running && state.outcomes.length > shown) await refresh(table);
  document.querySelectorAll("[data-run]").forEach((button) => { button.disabled = state.running; });
  shown = state.outcomes.length;
  if (wasRunning && !state.running) {
    if (state.error) { say(state.error); if (table) await refresh(table); } else location.reload();
  }
  wasRunning = state.running;
  setTimeout(poll, state.running ? 700 : 2500);
}
async function refresh(table) {
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
  const body = page.querySelector("#recordings tbody");
  if (body) { table.tBodies[0].replaceWith(document.adoptNode(body)); search(); }
}
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-run]");
  if (button && (await post("run", JSON.parse(button.dataset.run)))) { wasRunning = true; shown = 0; say(""); $("progress").textContent = "starting"; }
});
$("cancel").onclick = () => post("cancel", {});
$("undo").onclick = async () => { if (await post("undo", {})) location.reload(); };
if ($("watch")) $("watch").onchange = (event) => post("watch", { on: event.target.checked });
function search() {
  const words = $("search").value.toLowerCase();
  for (const row of document.querySelectorAll("#recordings tbody tr")) row.hidden = !row.textContent.toLowerCase().includes(words);
}
if ($("search")) $("search").oninput = search;
poll();

// -- corrections -----------------------------------------------------------------------------------------------------
const section = $("curves");
const path = section ? section.dataset.path : "";
for (const link of document.querySelectorAll("nav a")) link.hidden = !document.querySelector(link.getAttribute("href"));
const CHANGES = {
  contact: "Change the foot of this contact", event: "Move or remove this event", cycle: "Leave this cycle out",
  marker: "Change the name of this marker", static: "Use another static trial", leave_out: "Leave this recording out",
};
function askWhy(kind) {
  const box = $("why");
  $("what").textContent = CHANGES[kind];
  box.showModal();
  $("reason").select();
  return new Promise((done) => {
    box.querySelector("form").onsubmit = (event) => { event.preventDefault(); done($("reason").value.trim()); box.close(); };
    $("no").onclick = () => box.close();
    box.onclose = () => done(null);
  });
}
async function correct(correction, needsReason) {
  const reason = needsReason ? await askWhy(correction.kind) : "";
  if (reason === null) return;
  if (await post("correct", { path, reason, ...correction })) {
    sessionStorage.setItem("saved", correction.kind === "review" ? "Saved." : "Saved. The next analysis uses it.");
    location.reload();
  }
}
if (sessionStorage.getItem("saved")) { say(sessionStorage.getItem("saved"), true); sessionStorage.removeItem("saved"); }
for (const form of document.querySelectorAll("form[data-kind]")) {
  form.onsubmit = (event) => {
    event.preventDefault();
    const values = Object.fromEntries(new FormData(form, event.submitter));
    if (form.dataset.kind === "subject") {
      const entries = {};
      for (const [name, value] of Object.entries(values)) entries[name] = value !== "" && form.elements[name].type === "number" ? Number(value) : value;
      correct({ kind: "subject", entries }, false);
    } else correct({ kind: form.dataset.kind, ...values }, !("reason" in values || "restore" in values || values.static === ""));
  };
}
for (const button of document.querySelectorAll("[data-export]")) {
  button.onclick = async () => {
    const done = await post("export", { path, to: button.dataset.export });
    if (done) say(`Written to ${done.folder} of the opened folder: ${done.files.join(", ")}`, true);
  };
}

// -- curves ----------------------------------------------------------------------------------------------------------
const WIDTH = 1120, LEFT = 70, ROW = 90;
function draw(name, attributes, parent, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}
function plot(signals) {
  const rows = signals.plates.length, height = rows * ROW + 110;
  const svg = draw("svg", { viewBox: `0 0 ${WIDTH} ${height}` }, $("plot"));
  const x = (t) => LEFT + (t / (signals.end_s || 1)) * (WIDTH - LEFT - 10);
  const top = Math.max(100, ...signals.plates.flatMap((plate) => plate.values.filter((v) => v !== null)));
  signals.plates.forEach((plate, k) => {
    const low = (k + 1) * ROW - 26;
    draw("text", { x: 4, y: low }, svg, `Plate ${plate.number}`);
    draw("polyline", { class: "curve", points: plate.values.map((v, i) => (v === null ? "" : `${x(i / plate.rate_hz).toFixed(1)},${(low - (v / top) * (ROW - 40)).toFixed(1)}`)).join(" ") }, svg);
    for (const contact of signals.contacts.filter((one) => one.plate === plate.number)) {
      const side = contact.side === "right" || contact.side === "left" ? contact.side : "none";
      const bar = draw("rect", { class: `contact ${side}`, x: x(contact.start_s), y: low + 3, width: Math.max(3, x(contact.end_s) - x(contact.start_s)), height: 15 }, svg);
      draw("title", {}, bar, `Plate ${contact.plate}, ${contact.start_s.toFixed(2)} to ${contact.end_s.toFixed(2)} s: ${side === "none" ? "no foot" : `${side} foot`}. ${contact.reason || ""}`);
      draw("text", { class: "white", x: x(contact.start_s) + 4, y: low + 15 }, svg, side === "none" ? "no foot" : side);
      bar.onclick = () => choose(contact, side);
    }
  });
  if (section.dataset.walk && !signals.contacts.length && !signals.events.length) draw("text", { x: LEFT, y: height - 60 }, svg, "Contacts, events and cycles appear after the analysis of a walk.");
  const bottom = rows * ROW;
  if (section.dataset.walk) ["right", "left"].forEach((side, k) => {
    const y = bottom + 14 + k * 34;
    draw("text", { x: 4, y: y + 14 }, svg, side);
    const omitted = (signals.omitted || []).filter((one) => one.side === side).map((one) => ({ ...one, out: true, end_s: nextStrike(signals, side, one.start_s) }));
    for (const cycle of [...signals.cycles.filter((one) => one.side === side && !omitted.some((o) => Math.abs(o.start_s - one.start_s) < 0.1)), ...omitted]) {
      const bar = draw("rect", { class: `cycle ${side}${cycle.out ? " out" : ""}`, "fill-opacity": 0.45, x: x(cycle.start_s), y, width: Math.max(3, x(cycle.end_s) - x(cycle.start_s) - 6), height: 18 }, svg);
      draw("title", {}, bar, `${side} cycle, ${cycle.start_s.toFixed(2)} to ${cycle.end_s.toFixed(2)} s${cycle.out ? ", left out" : ""}`);
      bar.onclick = () => correct({ kind: "cycle", side, start_s: cycle.start_s, restore: Boolean(cycle.out) }, !cycle.out);
    }
    for (const event of signals.events.filter((one) => one.side === side)) drag(event, svg, x, y, signals);
  });
  for (let t = 0; t <= signals.end_s; t += signals.end_s > 6 ? 1 : 0.5) draw("text", { x: x(t), y: height - 6, "text-anchor": "middle" }, svg, `${t} s`);
}
function nextStrike(signals, side, start) {
  const later = signals.events.filter((one) => one.side === side && one.event === "foot_strike" && one.time_s > start + 0.1);
  return later.length ? later[0].time_s : signals.end_s;
}
function drag(event, svg, x, y, signals) {
  const strike = event.event === "foot_strike";
  const line = draw("path", { class: `event ${event.side}`, "stroke-width": 3, d: strike ? "M0 -3V25M0 25l-5 -8h10z" : "M0 25V-3M0 -3l-5 8h10z", transform: `translate(${x(event.time_s)} ${y})` }, svg);
  draw("title", {}, line, `${event.side} ${event.event.replace("_", " ")} at ${event.time_s.toFixed(3)} s (${event.source})`);
  line.ondblclick = () => correct({ kind: "event", side: event.side, event: event.event, from_s: event.time_s }, true);
  line.onpointerdown = (down) => {
    line.setPointerCapture(down.pointerId);
    const time = (move) => {
      const box = svg.getBoundingClientRect();
      const at = (((move.clientX - box.left) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - 10) * signals.end_s;
      return Math.min(Math.max(at, 0), signals.end_s);
    };
    let moved = null;
    line.onpointermove = (move) => { moved = time(move); line.setAttribute("transform", `translate(${x(moved)} ${y})`); $("progress").textContent = `${moved.toFixed(3)} s`; };
    line.onpointerup = () => {
      line.onpointermove = line.onpointerup = null;
      if (moved === null || Math.abs(moved - event.time_s) < 0.002) return;
      line.setAttribute("transform", `translate(${x(event.time_s)} ${y})`);
      correct({ kind: "event", side: event.side, event: event.event, from_s: event.time_s, to_s: moved }, true);
    };
  };
}
function choose(contact, now) {
  document.querySelector(".choice")?.remove();
  const box = document.createElement("p");
  box.className = "choice actions";
  box.append(`Plate ${contact.plate}, ${contact.start_s.toFixed(2)} s: `);
  for (const side of ["left", "right", "none"]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = side === "none" ? "no foot" : `${side} foot`;
    button.disabled = side === now;
    button.dataset.side = side;
    button.onclick = () => correct({ kind: "contact", plate: contact.plate, from_s: contact.start_s, side }, true);
    box.append(button);
  }
  $("plot").prepend(box);
}
if (section) fetch(`${base}/signals?path=${encodeURIComponent(path)}`).then((answer) => answer.json()).then(plot).catch(() => { $("plot").textContent = "The curves cannot be shown."; });
