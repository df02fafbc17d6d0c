// Points that can be placed, moved and removed, by pointer and by keyboard.

import { shape, svg } from "./draw.js";

const NEAR = 14; // pixels
const STEP = 0.05, LEAP = 0.5; // of the arrow keys

export class Editor {
  constructor({ change, say, limit, window }) {
    Object.assign(this, { change, say, limit, window });
    this.points = [];
    this.history = [];
    this.label = 0;
    this.tool = "place";
    this.selected = -1;
    this.cursor = [0, 0];
    this.keys = false; // whether the cross of the keyboard is shown
  }

  attach(figure, classes) {
    this.classes = classes;
    if (this.figure !== figure) {
      this.figure = figure;
      const s = figure.svg;
      s.setAttribute("tabindex", "0");
      s.setAttribute("role", "application");
      s.setAttribute("aria-describedby", "keys");
      s.addEventListener("keydown", (e) => this.key(e));
      s.addEventListener("pointerdown", (e) => this.down(e));
      s.addEventListener("contextmenu", (e) => e.preventDefault());
      s.addEventListener("focus", () => { this.keys = s.matches(":focus-visible"); this.draw(); });
      s.addEventListener("blur", () => { this.keys = false; this.selected = -1; this.draw(); });
    }
    this.draw();
  }

  load(points) {
    this.points = points;
    this.history = [];
    this.selected = -1;
  }

  draw(labels = this.labels) {
    const f = this.figure;
    if (!f || !f.X) return;
    this.labels = labels;
    f.svg.setAttribute("aria-label", `${f.panel.title}: ${this.points.length} points. Enter adds one at the cross.`);
    f.overlay.replaceChildren(...this.points.map(([x, y, own], i) => {
      const label = labels ? labels[i] ?? own : this.classes > 1 ? own : 1;
      return svg("path", { d: shape(label, 5.2), class: `point h${label} ${i === this.selected ? "selected" : ""}`,
        transform: `translate(${f.X(x).toFixed(1)} ${f.Y(y).toFixed(1)})`, "data-i": i });
    }));
    if (this.keys) {
      const [x, y] = this.selected >= 0 && this.points[this.selected] ? this.points[this.selected] : this.cursor;
      const [px, py] = [f.X(x), f.Y(y)];
      f.overlay.append(svg("path", { d: `M${px - 13} ${py}H${px - 5}M${px + 5} ${py}H${px + 13}M${px} ${py - 13}V${py - 5}M${px} ${py + 5}V${py + 13}`, class: "cross" }));
    }
  }

  remember() {
    this.history.push(this.points.map((p) => [...p]));
    if (this.history.length > 100) this.history.shift();
  }

  changed() {
    this.labels = undefined;
    this.draw();
    this.change(this.points);
  }

  undo() {
    if (!this.history.length) return;
    this.points = this.history.pop();
    this.selected = -1;
    this.say(`Undone. ${this.points.length} points.`);
    this.changed();
  }

  clear() {
    this.remember();
    this.points = [];
    this.selected = -1;
    this.say("All points removed.");
    this.changed();
  }

  add(x, y) {
    if (this.points.length >= this.limit) {
      this.say(`There are ${this.limit} points; that is the most.`);
      return -1;
    }
    const [[x0, x1], [y0, y1]] = this.window;
    const clamp = (v, a, b) => Math.max(a, Math.min(b, v));
    this.points.push([clamp(x, x0, x1), clamp(y, y0, y1), this.classes > 1 ? this.label : 0]);
    return this.points.length - 1;
  }

  near(px, py) {
    let best = -1, least = NEAR;
    this.points.forEach(([x, y], i) => {
      const d = Math.hypot(this.figure.X(x) - px, this.figure.Y(y) - py);
      if (d < least) [best, least] = [i, d];
    });
    return best;
  }

  place(e) {
    const r = this.figure.svg.getBoundingClientRect();
    return [e.clientX - r.left, e.clientY - r.top];
  }

  down(e) {
    const s = this.figure.svg, at = this.place(e), hit = this.near(...at);
    const erase = this.tool === "erase" || e.button === 2 || e.altKey;
    if (e.button > 2 || e.button === 1) return;
    e.preventDefault();
    s.focus({ preventScroll: true });
    this.keys = false;
    s.setPointerCapture(e.pointerId);
    this.remember();
    let held = -1;
    if (erase) this.erase(at);
    else if (this.tool === "spray") this.spray(at);
    else held = hit >= 0 ? hit : this.add(...this.figure.inverse(...at));
    this.selected = held;
    this.changed();
    let last = performance.now();
    const move = (m) => {
      const now = this.place(m);
      if (erase) this.erase(now);
      else if (held >= 0) {
        const [[x0, x1], [y0, y1]] = this.window, [x, y] = this.figure.inverse(...now);
        this.points[held][0] = Math.max(x0, Math.min(x1, x));
        this.points[held][1] = Math.max(y0, Math.min(y1, y));
      } else if (performance.now() - last > 30) {
        last = performance.now();
        this.spray(now);
      }
      this.changed();
    };
    const up = () => {
      s.removeEventListener("pointermove", move);
      s.removeEventListener("pointerup", up);
      s.removeEventListener("pointercancel", up);
      this.selected = -1;
      this.draw();
    };
    s.addEventListener("pointermove", move);
    s.addEventListener("pointerup", up);
    s.addEventListener("pointercancel", up);
  }

  spray([px, py]) {
    const [x, y] = this.figure.inverse(px, py);
    const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
    this.add(x + 0.3 * normal(), y + 0.3 * normal());
  }

  erase([px, py]) {
    const hit = this.near(px, py);
    if (hit >= 0) this.points.splice(hit, 1);
  }

  key(e) {
    if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "z") { e.preventDefault(); this.undo(); return; }
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[e.key];
    const point = this.points[this.selected];
    const where = (p) => `at ${p[0].toFixed(2)}, ${p[1].toFixed(2)}`;
    this.keys = true;
    if (by) {
      const target = point || this.cursor, step = e.shiftKey ? LEAP : STEP;
      if (point && !e.repeat) this.remember();
      this.window.forEach(([low, high], i) => { target[i] = Math.max(low, Math.min(high, target[i] + by[i] * step)); });
      this.say(`${point ? "point" : "cross"} ${where(target)}`);
      if (point) this.changed();
      else this.draw();
    } else if (e.key === "Enter" || e.key === " ") {
      this.remember();
      const i = this.add(...(point ? [point[0] + 0.2, point[1]] : this.cursor));
      if (i >= 0) {
        this.selected = -1;
        this.say(`Point added ${where(this.points[i])}. ${this.points.length} points.`);
        this.changed();
      }
    } else if (e.key === "n" || e.key === "p" || e.key === "N" || e.key === "P") {
      if (!this.points.length) return;
      const back = e.key.toLowerCase() === "p" || e.shiftKey, n = this.points.length;
      this.selected = (this.selected + (back ? -1 : 1) + n + (this.selected < 0 && back ? 1 : 0)) % n;
      this.say(`Point ${this.selected + 1} of ${n}, class ${this.points[this.selected][2]}, ${where(this.points[this.selected])}`);
      this.draw();
    } else if ((e.key === "Delete" || e.key === "Backspace") && point) {
      this.remember();
      this.points.splice(this.selected, 1);
      this.selected = Math.min(this.selected, this.points.length - 1);
      this.say(`Point removed. ${this.points.length} points.`);
      this.changed();
    } else if (/^[0-5]$/.test(e.key) && Number(e.key) < this.classes) {
      this.label = Number(e.key);
      if (point) {
        this.remember();
        point[2] = this.label;
        this.changed();
      }
      this.say(`Class ${e.key}`);
      this.relabel?.();
    } else if (e.key === "Escape") {
      this.selected = -1;
      this.draw();
    } else return;
    e.preventDefault();
  }
}
