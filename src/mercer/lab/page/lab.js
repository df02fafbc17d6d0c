// The page: one state for each view, one request at a time, and what comes back is drawn.

import * as controls from "./controls.js";
import { Figure } from "./draw.js";
import { Editor } from "./editor.js";
import { decode, encode, fromPreset } from "./link.js";

const $ = (id) => document.getElementById(id);
const page = Math.random().toString(36).slice(2);
const catalogue = await (await fetch("catalogue")).json();
const views = Object.fromEntries(catalogue.views.map((v) => [v.name, v]));
const states = {};
let state, view, figures = [], sliders = new Map(), changes = {};
let number = 0, busy = false, waiting = false, slow = 0;

const KEYS = "Keys in the picture: arrows move, Enter adds, N and P pick a point, Delete removes it, 0–5 choose the class, Ctrl+Z undoes.";
const say = (text) => { $("live").textContent = text; };
const editor = new Editor({
  limit: catalogue.limits.points, window: catalogue.window, say,
  change: (points) => { state.points = points; touch(); },
});

// ---- asking --------------------------------------------------------------------------------
function touch() {
  state.touched = true;
  ask();
}

async function ask() {
  if (busy) { waiting = true; return; }
  busy = true;
  waiting = false;
  const asked = { ...changes }, of = state;
  const body = { view: state.view, kernel: state.kernel, changes: asked, options: state.options, page, number: ++number };
  if (view.data === "strings") body.strings = state.strings;
  else if (view.data !== "none") body.points = state.points.map(([x, y, c]) => [Number(x.toFixed(3)), Number(y.toFixed(3)), c]);
  const start = performance.now();
  clearTimeout(slow);
  slow = setTimeout(() => $("stage").classList.add("working"), 250);
  let found;
  try {
    const reply = await fetch("picture", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    found = await reply.json();
  } catch {
    found = { error: "The lab does not answer; is it still running?" };
  }
  clearTimeout(slow);
  $("stage").classList.remove("working");
  busy = false;
  if (of === state && !found.superseded) show(found, asked);
  document.documentElement.dataset.answered = String(number); // for tests, as are these milliseconds
  document.documentElement.dataset.took = (performance.now() - start).toFixed(1);
  if (waiting) ask();
  else keepLink();
}

// ---- showing -------------------------------------------------------------------------------
function show(found, asked) {
  const { kernel, picture } = found;
  const wrong = Boolean(found.error) && found.about === "kernel";
  $("kernel-error").textContent = wrong ? found.error : "";
  $("kernel").setAttribute("aria-invalid", String(wrong));
  if (kernel) describe(kernel, asked);
  const note = [wrong ? "" : found.error, picture?.note, ...(found.warnings || [])].filter(Boolean).join(" ");
  $("note").textContent = note;
  $("note").classList.toggle("bad", Boolean(found.error) && !wrong);
  $("panels").classList.toggle("stale", Boolean(found.error));
  if (!picture) { if (!figures.length) blank(); editor.draw(); return; }
  draw(picture.panels);
  $("python").textContent = found.python;
  $("facts").replaceChildren(...picture.facts.map(([name, value, meaning]) => {
    const box = document.createElement("div");
    for (const [kind, text] of [["dt", name], ["dd", value], ["small", meaning]]) {
      const e = document.createElement(kind === "small" ? "dd" : kind);
      e.className = kind;
      e.textContent = text;
      box.append(e);
    }
    return box;
  }));
  const took = found.ms < 1000 ? `${found.ms} ms` : `${(found.ms / 1000).toFixed(1)} s`;
  $("timing").textContent = `Computed in ${took}.`;
}

function draw(panels) {
  while (figures.length < panels.length) figures.push(new Figure($("panels")));
  while (figures.length > panels.length) figures.pop().element.remove();
  const wide = panels.filter((p) => p.wide).length;
  $("panels").dataset.wide = wide;
  $("panels").dataset.small = panels.length - wide;
  panels.forEach((panel, i) => {
    figures[i].show(panel, state.points);
    if (!panel.editable) return;
    editor.labels = panel.marks.find((m) => m.kind === "recolour")?.labels;
    editor.attach(figures[i], view.classes);
  });
}

function blank() {
  if (["strings", "none"].includes(view.data)) return;
  const [x, y] = catalogue.window;
  draw([{ title: "points", x, y, xlabel: "x₁", ylabel: "x₂", marks: [], editable: true, wide: true, axes: true }]);
}

function describe(kernel, asked) {
  for (const [name, value] of Object.entries(asked)) if (changes[name] === value) delete changes[name];
  const typing = document.activeElement === $("kernel");
  if (!typing) $("kernel").value = kernel.text;
  if (!Object.keys(changes).length && !typing) state.kernel = kernel.text;
  const formula = new DOMParser().parseFromString(kernel.formula, "text/html");
  $("formula").replaceChildren(...[...formula.body.children].map((e) => document.importNode(e, true)));
  $("words").textContent = kernel.words;
  const key = kernel.parameters.map((p) => `${p.name} ${p.label}`).join();
  if ($("parameters").dataset.key !== key) {
    sliders = new Map();
    $("parameters").dataset.key = key;
    $("parameters").replaceChildren(...kernel.parameters.map((p) => {
      const made = controls.slider(p, (v) => { changes[p.name] = v; touch(); });
      sliders.set(p.name, made);
      return made.element;
    }));
  } else kernel.parameters.forEach((p) => {
    const made = sliders.get(p.name);
    if (document.activeElement !== made.input && !(p.name in changes)) made.put(p.value);
  });
}

// ---- views ---------------------------------------------------------------------------------
function open(next) {
  const same = view && view.name === next.view;
  states[next.view] = state = next;
  view = views[next.view];
  changes = {};
  $("title").textContent = view.title;
  $("lead").textContent = view.lead;
  document.title = `${view.title} – kernel lab`;
  for (const tab of $("tabs").children) {
    const chosen = tab.dataset.view === view.name;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    if (chosen) tab.scrollIntoView({ block: "nearest", inline: "center" });
  }
  if (!same) { figures.forEach((f) => f.element.remove()); figures = []; editor.figure = null; $("facts").replaceChildren(); $("note").textContent = "Computing …"; }
  $("kernel").value = state.kernel;
  $("parameters").dataset.key = "-";
  $("strings").value = state.strings.join("\n");
  $("typed").hidden = view.data !== "strings";
  $("option-box").hidden = !view.options.length;
  controls.options($("options"), view, state.options, touch);
  const own = catalogue.presets.filter((p) => p.view === view.name);
  $("presets").replaceChildren(new Option("your own", ""), ...own.map((p) => new Option(p.title, p.name)));
  $("presets").value = state.preset;
  $("hint").textContent = own.find((p) => p.name === state.preset)?.words || "";
  const list = catalogue.kernels[view.data];
  $("kernels").replaceChildren(new Option("or choose one …", ""), ...list.map((text) => new Option(text)));
  editor.load(state.points);
  tools();
  ask();
}

function tools() {
  const drawn = ["plane", "line"].includes(view.data);
  $("tools").hidden = !drawn;
  $("keys").textContent = drawn ? KEYS : "";
  if (!drawn) return;
  const made = [];
  const button = (words, label, pressed, click) => {
    const b = document.createElement("button");
    b.type = "button";
    b.append(words);
    b.setAttribute("aria-label", label);
    if (pressed !== null) b.setAttribute("aria-pressed", String(pressed));
    b.addEventListener("click", click);
    made.push(b);
    return b;
  };
  for (const [tool, words, help] of [["place", "Place", "Place and move points"], ["spray", "Spray", "Draw a sample by dragging"], ["erase", "Erase", "Erase points"]])
    button(words, help, editor.tool === tool, () => { editor.tool = tool; tools(); });
  if (view.classes > 1) {
    const shown = Math.min(view.classes, Math.max(3, 1 + Math.max(...state.points.map((p) => p[2]), 0), editor.label + 1));
    for (let c = 0; c < (view.classes === 2 ? 2 : shown); c++) {
      const swatch = document.createElement("span");
      swatch.className = `swatch s${c}`;
      button(swatch, `Class ${c}`, editor.label === c, () => { editor.label = c; tools(); }).classList.add("class");
    }
  }
  button("Undo", "Undo", null, () => editor.undo());
  button("Clear", "Remove all points", null, () => editor.clear());
  $("tools").replaceChildren(...made);
}
editor.relabel = tools;

// ---- links ---------------------------------------------------------------------------------
let linking = 0;
function keepLink() {
  clearTimeout(linking);
  linking = setTimeout(() => {
    const text = encode(state, view, catalogue.presets);
    if (location.hash.slice(1) !== text) history.replaceState(null, "", `#${text}`);
    document.documentElement.dataset.linked = String(number);
    if (state.touched) $("presets").value = "";
  }, 150);
}
addEventListener("hashchange", () => {
  const found = decode(location.hash, catalogue);
  if (found) open(found);
});

async function copy(text, button, words) {
  const old = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = words;
  } catch {
    button.textContent = "Copying is not allowed here";
  }
  say(button.textContent);
  setTimeout(() => { button.textContent = old; }, 1500);
}

// ---- starting ------------------------------------------------------------------------------
for (const v of catalogue.views) {
  const tab = document.createElement("button");
  Object.assign(tab, { type: "button", id: `tab-${v.name}`, textContent: v.title });
  tab.setAttribute("role", "tab");
  tab.setAttribute("aria-controls", "stage");
  tab.dataset.view = v.name;
  tab.addEventListener("click", () => open(states[v.name] || first(v.name)));
  $("tabs").append(tab);
}
$("tabs").addEventListener("keydown", (e) => {
  const tabs = [...$("tabs").children], i = tabs.indexOf(document.activeElement);
  const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[e.key];
  if (to === undefined || i < 0) return;
  e.preventDefault();
  const tab = tabs[(to + tabs.length) % tabs.length];
  tab.click();
  tab.focus();
});
const first = (name) => fromPreset(catalogue.presets.find((p) => p.view === name), catalogue);

$("skip").addEventListener("click", (e) => { e.preventDefault(); (figures[0]?.svg || $("stage")).focus(); });
$("presets").addEventListener("change", () => {
  const preset = catalogue.presets.find((p) => p.name === $("presets").value);
  if (preset) open(fromPreset(preset, catalogue));
});
$("kernels").addEventListener("change", () => {
  if (!$("kernels").value) return;
  $("kernel").value = state.kernel = $("kernels").value;
  $("kernels").value = "";
  changes = {};
  touch();
});
$("kernel").addEventListener("input", () => { state.kernel = $("kernel").value; changes = {}; touch(); });
$("strings").addEventListener("input", () => {
  state.strings = $("strings").value.split("\n").filter((s) => s.trim()).slice(0, catalogue.limits.strings)
    .map((s) => s.slice(0, catalogue.limits.string));
  touch();
});
$("copy-python").addEventListener("click", (e) => copy($("python").textContent, e.target, "Copied"));
$("copy-link").addEventListener("click", (e) => {
  const text = encode(state, view, catalogue.presets);
  history.replaceState(null, "", `#${text}`);
  copy(location.href, e.target, "Link copied");
});

const THEMES = { auto: ["◐", "as the system"], light: ["○", "light"], dark: ["●", "dark"] };
function theme(name) {
  document.documentElement.dataset.theme = name;
  $("theme").textContent = THEMES[name][0];
  $("theme").setAttribute("aria-label", `Colours: ${THEMES[name][1]}`);
  figures.forEach((f) => f.render());
  editor.draw();
}
$("theme").addEventListener("click", () => {
  const names = Object.keys(THEMES), now = names.indexOf(document.documentElement.dataset.theme || "auto");
  theme(names[(now + 1) % names.length]);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme(document.documentElement.dataset.theme || "auto"));
let last = 0;
new ResizeObserver(() => {
  if ($("panels").clientWidth === last) return;
  last = $("panels").clientWidth;
  figures.forEach((f) => f.render());
  editor.draw();
}).observe($("panels"));
theme("auto");
open(decode(location.hash, catalogue) || first(catalogue.views[0].name));
