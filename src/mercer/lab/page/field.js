// Values over a window: filled by colour on a canvas, contours by marching squares.

const mix = (a, b, t) => a.map((v, i) => v + (b[i] - v) * t);

export function palette(element) {
  const style = getComputedStyle(element);
  const rgb = (name) => {
    const hex = style.getPropertyValue(name).trim();
    return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  };
  return { ground: rgb("--panel"), ink: rgb("--ink"),
    hues: [0, 1, 2, 3, 4, 5].map((i) => rgb(`--c${i}`)) };
}

function shader(mark, colours) {
  const { ground, ink, hues } = colours;
  if (mark.scheme === "sides") {
    const [a, b] = mark.hues;
    const tints = [[a, 0.34], [a, 0.15], [b, 0.15], [b, 0.34]].map(([h, t]) => mix(ground, hues[h], t));
    return (v) => tints[v < -1 ? 0 : v < 0 ? 1 : v < 1 ? 2 : 3];
  }
  const low = Math.min(0, ...mark.values), high = Math.max(0, ...mark.values);
  if (mark.scheme === "level") {
    const inside = table((t) => mix(ground, hues[1], 0.22 + 0.3 * t));
    const outside = table((t) => mix(ground, ink, 0.04 + 0.14 * t));
    return (v) => v >= 0 ? inside[Math.round((STEPS * v) / (high || 1))] : outside[Math.round((STEPS * v) / low)];
  }
  const top = Math.max(-low, high) || 1;
  const [red, blue] = [0, 1].map((h) => table((t) => mix(ground, hues[h], 0.62 * t)));
  return (v) => v >= 0 ? blue[Math.round((STEPS * v) / top)] : red[Math.round((-STEPS * v) / top)];
}

// Colours are mixed once, not for each pixel.
const STEPS = 12;
const table = (colour) => Array.from({ length: STEPS + 1 }, (_, i) => colour(i / STEPS));

export function paint(canvas, mark, colours) {
  const { rows, columns, values } = mark;
  const width = Math.min(canvas.clientWidth || 400, 480);
  const height = Math.round((width * (canvas.clientHeight || 300)) / (canvas.clientWidth || 400));
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  const regions = mark.scheme === "regions";
  const tint = regions ? colours.hues.map((h) => mix(colours.ground, h, 0.3)) : null;
  const shade = regions ? null : shader(mark, colours);
  let at = 0;
  for (let j = 0; j < height; j++) {
    const y = (1 - j / (height - 1)) * (rows - 1), r = Math.min(rows - 2, Math.floor(y)), b = y - r;
    for (let i = 0; i < width; i++) {
      const x = (i / (width - 1)) * (columns - 1), c = Math.min(columns - 2, Math.floor(x)), a = x - c;
      const k = r * columns + c;
      const v00 = values[k], v01 = values[k + 1], v10 = values[k + columns], v11 = values[k + columns + 1];
      let colour;
      if (regions) {
        const w = [0, 0, 0, 0, 0, 0];
        w[v00] += (1 - a) * (1 - b); w[v01] += a * (1 - b); w[v10] += (1 - a) * b; w[v11] += a * b;
        let best = 0;
        for (let q = 1; q < 6; q++) if (w[q] > w[best]) best = q;
        colour = tint[best];
      } else colour = shade((v00 * (1 - a) + v01 * a) * (1 - b) + (v10 * (1 - a) + v11 * a) * b);
      image.data[at++] = colour[0];
      image.data[at++] = colour[1];
      image.data[at++] = colour[2];
      image.data[at++] = 255;
    }
  }
  context.putImageData(image, 0, 0);
}

// The lines f = level as a path; place(c, r) maps a node of the grid to the picture.
export function contour(mark, level, place) {
  const { rows, columns, values } = mark;
  const joined = new Map(); // an end of a piece -> the ends of the pieces that meet there
  const cut = (r0, c0, r1, c1) => {
    const a = values[r0 * columns + c0], b = values[r1 * columns + c1], t = (level - a) / (b - a);
    const [x, y] = place(c0 + t * (c1 - c0), r0 + t * (r1 - r0));
    return `${x.toFixed(1)} ${y.toFixed(1)}`;
  };
  const link = (a, b) => joined.has(a) ? joined.get(a).push(b) : joined.set(a, [b]);
  for (let r = 0; r < rows - 1; r++)
    for (let c = 0; c < columns - 1; c++) {
      const corners = [[r, c], [r, c + 1], [r + 1, c + 1], [r + 1, c]];
      const above = corners.map(([i, j]) => values[i * columns + j] >= level);
      const ends = [];
      for (let e = 0; e < 4; e++)
        if (above[e] !== above[(e + 1) % 4]) ends.push(cut(...corners[e], ...corners[(e + 1) % 4]));
      for (let e = 0; e + 1 < ends.length; e += 2)
        if (ends[e] !== ends[e + 1]) { link(ends[e], ends[e + 1]); link(ends[e + 1], ends[e]); }
    }
  return chains(joined);
}

// Pieces joined end to end, so that dashes run on: open lines first, then closed ones.
function chains(joined) {
  let path = "";
  const walk = (start) => {
    let at = start, next;
    path += `M${at}`;
    while ((next = joined.get(at)?.pop()) !== undefined) {
      const back = joined.get(next), i = back.indexOf(at);
      if (i >= 0) back.splice(i, 1);
      path += `L${next}`;
      at = next;
    }
  };
  for (const [start, ends] of joined) if (ends.length % 2) walk(start);
  for (const [start, ends] of joined) while (ends.length) walk(start);
  return path;
}
