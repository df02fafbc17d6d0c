// Three dimensions without any library: turned by dragging, or by the arrow keys.

const view = { turn: 0.7, tilt: 0.42 };

function projected(f) {
  const { turn, tilt } = view, b = f.box;
  const [c, s, ct, st] = [Math.cos(turn), Math.sin(turn), Math.cos(tilt), Math.sin(tilt)];
  const scale = Math.min(b.width, b.height) / 3.9;
  return ([x, y, z]) => {
    const u = c * x - s * y, v = s * x + c * y;
    return [b.left + b.width / 2 + scale * u, b.top + b.height / 2 - scale * (ct * z - st * v), v * ct + z * st];
  };
}

export function drawSpace(f, mark, svg, shape) {
  const at = projected(f);
  const path = (points, close) => points.map((p, i) => `${i ? "L" : "M"}${at(p).slice(0, 2).map((v) => v.toFixed(1)).join(" ")}`).join("") + (close ? "Z" : "");
  const ends = [[1.25, 0, 0], [0, 1.25, 0], [0, 0, 1.25]];
  for (const end of ends) f.marks.append(svg("path", { d: path([end.map((v) => -v), end]), class: "axis3" }));
  if (mark.mesh) {
    const n = mark.side;
    for (let i = 0; i < n; i++) {
      f.marks.append(svg("path", { d: path(mark.mesh.slice(i * n, (i + 1) * n)), class: "mesh" }));
      f.marks.append(svg("path", { d: path(mark.mesh.filter((_, j) => j % n === i)), class: "mesh" }));
    }
  }
  if (mark.plane && mark.plane.length) f.marks.append(svg("path", { d: path(mark.plane, true), class: "plane3" }));
  if (mark.shadows) mark.shadows.forEach((p, i) => {
    f.marks.append(svg("path", { d: path([p, mark.points[i]]), class: "drop" }));
    const [x, y] = at(p);
    f.marks.append(svg("circle", { cx: x, cy: y, r: 2, class: "shadow" }));
  });
  const order = mark.points.map((p, i) => [at(p), i]).sort((a, b) => b[0][2] - a[0][2]);
  for (const [[x, y], i] of order)
    f.marks.append(svg("path", { d: shape(mark.labels[i], 4.6), class: `dot h${mark.labels[i]}`, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` }));
  ends.forEach((end, i) => {
    const [x, y] = at(end.map((v) => v * 1.12));
    f.marks.append(svg("text", { x, y: y + 4, class: "halo", "text-anchor": "middle" }, mark.names[i]));
  });
  turning(f);
}

function turning(f) {
  if (f.turns) return;
  f.turns = true;
  f.svg.setAttribute("tabindex", "0");
  f.svg.classList.add("turns");
  f.svg.setAttribute("aria-roledescription", "turn it with the arrow keys");
  const move = (dx, dy) => {
    view.turn += dx;
    view.tilt = Math.max(-1.5, Math.min(1.5, view.tilt + dy));
    f.render();
  };
  f.svg.addEventListener("keydown", (e) => {
    const by = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[e.key];
    if (by) { e.preventDefault(); move(...by); }
  });
  f.svg.addEventListener("pointerdown", (e) => {
    let [x, y] = [e.clientX, e.clientY];
    f.svg.setPointerCapture(e.pointerId);
    const drag = (m) => { move((m.clientX - x) / 120, (m.clientY - y) / 120); [x, y] = [m.clientX, m.clientY]; };
    const end = () => { f.svg.removeEventListener("pointermove", drag); f.svg.removeEventListener("pointerup", end); };
    f.svg.addEventListener("pointermove", drag);
    f.svg.addEventListener("pointerup", end);
  });
}
