// Panels and marks, as the server describes them, drawn as SVG over a canvas.

import { contour, paint, palette } from "./field.js";
import { drawSpace } from "./space.js";

const NS = "http://www.w3.org/2000/svg";

export function svg(name, attributes = {}, text) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

const hue = (colour) => (colour < 0 || colour === undefined ? "ink" : `h${colour}`);

// Shapes tell classes apart where colours do not.
export function shape(label, r = 5) {
  const s = r * 0.9, t = r * 1.15;
  const paths = [
    `M${-s} ${-s}H${s}V${s}H${-s}Z`,
    `M${-r} 0A${r} ${r} 0 1 0 ${r} 0A${r} ${r} 0 1 0 ${-r} 0Z`,
    `M0 ${-t}L${t} ${s}H${-t}Z`,
    `M0 ${-t}L${t} 0L0 ${t}L${-t} 0Z`,
    `M0 ${t}L${t} ${-s}H${-t}Z`,
    `M${-r} ${-r * 0.4}H${-r * 0.4}V${-r}H${r * 0.4}V${-r * 0.4}H${r}V${r * 0.4}H${r * 0.4}V${r}H${-r * 0.4}V${r * 0.4}H${-r}Z`,
  ];
  return paths[label % paths.length];
}

function ticks(low, high, count) {
  const step = 10 ** Math.floor(Math.log10((high - low) / count));
  const nice = [1, 2, 5, 10].map((m) => m * step).find((s) => (high - low) / s <= count) || step * 10;
  const found = [];
  for (let v = Math.ceil(low / nice - 1e-9) * nice; v <= high + 1e-9 * nice; v += nice)
    found.push(Math.abs(v) < 1e-9 * nice ? 0 : v);
  return found;
}

const UP = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const power = (v) => `10${[...String(v)].map((c) => UP[c] || "").join("")}`;
const number = (v) => String(Number(v.toPrecision(4))).replace("-", "−");

export class Figure {
  constructor(parent) {
    this.element = document.createElement("figure");
    this.element.className = "panel";
    this.caption = document.createElement("figcaption");
    this.frame = document.createElement("div");
    this.frame.className = "frame";
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("aria-hidden", "true");
    this.svg = svg("svg");
    this.marks = svg("g");
    this.overlay = svg("g"); // for points that can be moved
    this.frame.append(this.canvas, this.svg);
    this.element.append(this.caption, this.frame);
    parent.insertBefore(this.element, parent.querySelector(".facts"));
  }

  show(panel, points) {
    this.panel = panel;
    this.points = points;
    this.caption.textContent = panel.title;
    this.element.classList.toggle("wide", panel.wide);
    this.element.classList.toggle("editable", panel.editable);
    this.element.classList.toggle("flow", panel.marks.some((m) => ["pieces", "images"].includes(m.kind)));
    if (!panel.editable) this.svg.setAttribute("role", "img");
    if (!panel.editable) this.svg.setAttribute("aria-label", describe(panel));
    this.render();
  }

  render() {
    const { panel } = this;
    this.frame.querySelectorAll(".html").forEach((e) => e.remove());
    const html = panel.marks.find((m) => HTML[m.kind]);
    this.svg.classList.toggle("gone", Boolean(html));
    if (html) {
      this.canvas.hidden = true;
      const made = HTML[html.kind](html);
      made.classList.add("html");
      this.frame.append(made);
      return;
    }
    const width = this.frame.clientWidth, height = this.frame.clientHeight;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const [left, right, top, bottom] = panel.axes ? [48, 10, 8, 34] : [6, 6, 6, 6];
    this.box = { left, top, width: width - left - right, height: height - top - bottom };
    const [x0, x1] = panel.x, [y0, y1] = panel.y, b = this.box;
    this.X = (v) => b.left + ((v - x0) / (x1 - x0)) * b.width;
    this.Y = (v) => b.top + (1 - (v - y0) / (y1 - y0)) * b.height;
    this.inverse = (px, py) => [x0 + ((px - b.left) / b.width) * (x1 - x0),
      y0 + (1 - (py - b.top) / b.height) * (y1 - y0)];
    const clip = `clip-${(this.id ||= Math.random().toString(36).slice(2, 8))}`;
    const defs = svg("defs"), path = svg("clipPath", { id: clip });
    path.append(svg("rect", { x: b.left, y: b.top, width: b.width, height: b.height }));
    defs.append(path);
    this.marks = svg("g", { "clip-path": `url(#${clip})` });
    this.legend = [];
    this.canvas.hidden = true;
    const parts = [defs];
    if (panel.axes) parts.push(this.axes());
    for (const mark of panel.marks) if (MARKS[mark.kind]) MARKS[mark.kind](this, mark);
    this.svg.replaceChildren(...parts, this.marks, this.overlay);
    if (this.legend.length) this.svg.append(this.key());
  }

  axes() {
    const { panel, box: b } = this, g = svg("g", { class: "axes" });
    g.append(svg("rect", { x: b.left, y: b.top, width: b.width, height: b.height, class: "box" }));
    for (const v of ticks(...panel.x, Math.max(3, Math.round(b.width / 50)))) {
      g.append(svg("line", { x1: this.X(v), x2: this.X(v), y1: b.top + b.height, y2: b.top + b.height + 4 }));
      g.append(svg("text", { x: this.X(v), y: b.top + b.height + 15, "text-anchor": "middle" }, number(v)));
    }
    for (const v of ticks(...panel.y, Math.max(3, Math.round(b.height / 34)))) {
      if (panel.log && !Number.isInteger(v)) continue;
      g.append(svg("line", { x1: b.left - 4, x2: b.left, y1: this.Y(v), y2: this.Y(v) }));
      g.append(svg("text", { x: b.left - 7, y: this.Y(v) + 3.5, "text-anchor": "end" },
        panel.log ? power(v) : number(v)));
    }
    g.append(svg("text", { x: b.left + b.width / 2, y: b.top + b.height + 29, class: "name", "text-anchor": "middle" }, panel.xlabel));
    g.append(svg("text", { x: 11, y: b.top + b.height / 2, class: "name", "text-anchor": "middle",
      transform: `rotate(-90 11 ${b.top + b.height / 2})` }, panel.ylabel));
    return g;
  }

  key() {
    const g = svg("g", { class: "key" }), b = this.box;
    const left = this.panel.key === "right" ? b.left + b.width - 96 : b.left + 8;
    this.legend.forEach(([words, colour, kind], i) => {
      const y = b.top + 14 + 15 * i;
      g.append(kind === "band" ? svg("rect", { x: left, y: y - 6, width: 16, height: 9, class: `band ${hue(colour)}` })
        : svg("line", { x1: left, x2: left + 16, y1: y - 2, y2: y - 2, class: `line ${hue(colour)}` }));
      g.append(svg("text", { x: left + 22, y: y + 2 }, words));
    });
    return g;
  }

  note(mark, kind) {
    if (mark.label) this.legend.push([mark.label, mark.colour, kind]);
  }

  path(x, y) {
    let d = "", pen = "M";
    for (let i = 0; i < x.length; i++) {
      if (x[i] === null || y[i] === null) { pen = "M"; continue; }
      d += `${pen}${this.X(x[i]).toFixed(1)} ${this.Y(y[i]).toFixed(1)}`;
      pen = "L";
    }
    return d;
  }
}

const MARKS = {
  field(f, mark) {
    f.canvas.hidden = false;
    Object.assign(f.canvas.style, { left: `${f.box.left}px`, top: `${f.box.top}px`,
      width: `${f.box.width}px`, height: `${f.box.height}px` });
    paint(f.canvas, mark, palette(f.element));
    const place = (c, r) => [f.box.left + (c / (mark.columns - 1)) * f.box.width,
      f.box.top + (1 - r / (mark.rows - 1)) * f.box.height];
    for (const level of mark.levels) {
      const main = Math.abs(level) < 1e-12;
      const kind = mark.scheme === "sides" ? (main ? "main" : "margin") : main && mark.scheme === "level" ? "main" : "thin";
      f.marks.append(svg("path", { d: contour(mark, level, place), class: `contour ${kind}` }));
    }
  },
  line(f, mark) {
    f.marks.append(svg("path", { d: f.path(mark.x, mark.y), class: `line ${hue(mark.colour)} ${mark.thin ? "thin" : ""}` }));
    f.note(mark, "line");
  },
  band(f, mark) {
    const up = f.path(mark.x, mark.high), down = f.path([...mark.x].reverse(), [...mark.low].reverse());
    f.marks.append(svg("path", { d: `${up}${down.replace("M", "L")}Z`, class: `band ${hue(mark.colour)} ${mark.faint ? "faint" : ""}` }));
    f.note(mark, "band");
  },
  stems(f, mark) {
    const base = mark.base ?? 0;
    mark.x.forEach((x, i) => {
      if (mark.y[i] === null) return;
      f.marks.append(svg("line", { x1: f.X(x), x2: f.X(x), y1: f.Y(base), y2: f.Y(mark.y[i]), class: `stem ${hue(mark.colour)}` }));
      f.marks.append(svg("circle", { cx: f.X(x), cy: f.Y(mark.y[i]), r: mark.x.length > 60 ? 1.6 : 2.4, class: `stem-end ${hue(mark.colour)}` }));
    });
    if (base === 0) f.marks.append(svg("line", { x1: f.box.left, x2: f.box.left + f.box.width, y1: f.Y(0), y2: f.Y(0), class: "line ink thin" }));
  },
  bars(f, mark) {
    mark.heights.forEach((h, i) => f.marks.append(svg("rect", { x: f.X(mark.edges[i]), y: f.Y(Math.max(h, 0)),
      width: Math.max(0.5, f.X(mark.edges[i + 1]) - f.X(mark.edges[i]) - 0.5),
      height: Math.max(0, f.Y(0) - f.Y(Math.max(h, 0))), class: `bar ${hue(mark.colour)}` })));
  },
  dots(f, mark) {
    mark.x.forEach((x, i) => {
      const label = mark.labels ? mark.labels[i] : 1;
      f.marks.append(svg("path", { d: shape(label, 3.6), class: `dot h${label}`,
        transform: `translate(${f.X(x).toFixed(1)} ${f.Y(mark.y[i]).toFixed(1)})` }));
    });
  },
  names(f, mark) {
    mark.x.forEach((x, i) => {
      f.marks.append(svg("circle", { cx: f.X(x), cy: f.Y(mark.y[i]), r: 9, class: "tag" }));
      f.marks.append(svg("text", { x: f.X(x), y: f.Y(mark.y[i]) + 3.5, "text-anchor": "middle", class: "tag-name" }, mark.names[i]));
    });
  },
  rings(f, mark) {
    for (const [kind, list] of [["free", mark.free], ["bounded", mark.bounded]])
      for (const i of list) {
        const p = f.points[i];
        if (!p) continue;
        f.marks.append(svg("path", { d: kind === "free" ? shape(1, 9) : shape(3, 8.5), class: `ring ${kind}`,
          transform: `translate(${f.X(p[0]).toFixed(1)} ${f.Y(p[1]).toFixed(1)})` }));
      }
  },
  matrix(f, mark) {
    const n = mark.values.length, names = mark.names, b = f.box;
    const pad = names ? Math.min(120, 24 + 7 * Math.max(...names.map((s) => s.length))) : 8;
    const side = Math.min(b.width - pad, b.height - (names ? 22 : 8));
    const left = b.left + pad + (b.width - pad - side) / 2, top = b.top + 4;
    const flat = mark.values.flat(), high = Math.max(...flat), low = Math.min(0, ...flat);
    const { ground, hues } = palette(f.element);
    f.canvas.hidden = false;
    f.canvas.width = f.canvas.height = n;
    f.canvas.classList.add("sharp");
    Object.assign(f.canvas.style, { left: `${left}px`, top: `${top}px`, width: `${side}px`, height: `${side}px` });
    const context = f.canvas.getContext("2d"), image = context.createImageData(n, n);
    flat.forEach((v, i) => {
      const t = v >= 0 ? v / (high || 1) : v / (low || -1);
      const c = hues[v >= 0 ? 1 : 0];
      for (let j = 0; j < 3; j++) image.data[4 * i + j] = ground[j] + (c[j] - ground[j]) * t;
      image.data[4 * i + 3] = 255;
    });
    context.putImageData(image, 0, 0);
    const cell = side / n;
    if (names) names.forEach((name, i) => {
      f.marks.append(svg("text", { x: left - 8, y: top + (i + 0.5) * cell + 3.5, "text-anchor": "end", class: "small" }, `${i + 1}  ${name}`));
      f.marks.append(svg("text", { x: left + (i + 0.5) * cell, y: top + side + 14, "text-anchor": "middle", class: "small" }, i + 1));
    });
    if (names && n <= 10) mark.values.forEach((row, i) => row.forEach((v, j) => {
      const strong = v / (high || 1) > 0.8;
      f.marks.append(svg("text", { x: left + (j + 0.5) * cell, y: top + (i + 0.5) * cell + 3.5, "text-anchor": "middle",
        class: `small ${strong ? "inverse" : ""}` }, number(Number(v.toPrecision(2)))));
    }));
    if (mark.labels) mark.labels.forEach((label, i) => f.marks.append(svg("rect", { x: left - 6, y: top + i * cell, width: 4, height: cell + 0.5, class: `fill h${label}` })));
  },
  space(f, mark) { drawSpace(f, mark, svg, shape); },
};

// Marks that are text or pictures rather than drawings.
const HTML = {
  pieces(mark) {
    const table = document.createElement("table");
    table.className = "pieces";
    const line = (cells, kind) => {
      const row = document.createElement("tr");
      for (const cell of cells) {
        const e = document.createElement(kind);
        if (kind === "th") e.scope = "col";
        e.textContent = cell;
        row.append(e);
      }
      return row;
    };
    table.append(line(["", `in ${mark.names[0]}`, `in ${mark.names[1]}`], "th"));
    for (const row of mark.rows) table.append(line(row, "td"));
    if (!mark.rows.length) table.append(line(["nothing in common", "", ""], "td"));
    return table;
  },
  images(mark) {
    const grid = document.createElement("div");
    grid.className = "images";
    mark.rows.forEach((row, r) => {
      const name = document.createElement("span");
      name.textContent = mark.names[r];
      grid.append(name);
      row.forEach((pixels, i) => {
        const canvas = document.createElement("canvas");
        canvas.width = canvas.height = mark.side;
        canvas.setAttribute("role", "img");
        canvas.setAttribute("aria-label", `${mark.names[r]}, digit ${i + 1}`);
        const context = canvas.getContext("2d"), image = context.createImageData(mark.side, mark.side);
        pixels.forEach((v, p) => {
          for (let j = 0; j < 3; j++) image.data[4 * p + j] = 255 * (1 - (v + 1) / 2);
          image.data[4 * p + 3] = 255;
        });
        context.putImageData(image, 0, 0);
        grid.append(canvas);
      });
    });
    return grid;
  },
};

function describe(panel) {
  const names = panel.marks.map((m) => m.label).filter(Boolean);
  return `${panel.title}${names.length ? `: ${names.join(", ")}` : ""}`;
}
