// A picture as the part of a link after "#", and back.

const round = (v) => Number(v.toFixed(2));

export function encode(state, view, presets) {
  const preset = presets.find((p) => p.name === state.preset);
  const q = new URLSearchParams();
  if (preset && !state.touched) {
    q.set("preset", preset.name);
    return q.toString();
  }
  q.set("view", state.view);
  q.set("kernel", state.kernel);
  for (const option of view.options) {
    const value = state.options[option.name];
    if (value !== option.default) q.set(option.name, String(value));
  }
  if (view.data === "strings") q.set("strings", state.strings.join("\n"));
  else if (view.data !== "none")
    q.set("points", state.points.map((p) => `${round(p[0])},${round(p[1])},${p[2]}`).join(";"));
  return q.toString().replaceAll("%2C", ",").replaceAll("%3B", ";");
}

export function decode(text, catalogue) {
  const q = new URLSearchParams(text.replace(/^#/, ""));
  if (q.has("preset")) {
    const preset = catalogue.presets.find((p) => p.name === q.get("preset"));
    return preset ? fromPreset(preset, catalogue) : null;
  }
  const view = catalogue.views.find((v) => v.name === q.get("view"));
  if (!view) return null;
  const options = {};
  for (const option of view.options) {
    options[option.name] = option.default;
    if (!q.has(option.name)) continue;
    const given = q.get(option.name);
    if (typeof option.default === "boolean") options[option.name] = given === "true";
    else if (option.choices.length) {
      if (option.choices.some(([value]) => value === given)) options[option.name] = given;
    } else {
      const number = Number(given);
      if (Number.isFinite(number))
        options[option.name] = Math.min(option.high, Math.max(option.low, number));
    }
  }
  const points = (q.get("points") || "").split(";").map((each) => each.split(",").map(Number))
    .filter((p) => p.length === 3 && p.every(Number.isFinite))
    .map(([x, y, c]) => [Math.max(-9, Math.min(9, x)), Math.max(-9, Math.min(9, y)),
      Math.max(0, Math.min(catalogue.limits.classes - 1, Math.round(c)))])
    .slice(0, catalogue.limits.points);
  const strings = (q.get("strings") || "").split("\n").filter((s) => s.trim())
    .map((s) => s.slice(0, catalogue.limits.string)).slice(0, catalogue.limits.strings);
  return { view: view.name, kernel: q.get("kernel") || catalogue.kernels[view.data][0], options,
    points, strings, preset: "", touched: true };
}

export function fromPreset(preset, catalogue) {
  const view = catalogue.views.find((v) => v.name === preset.view);
  const options = Object.fromEntries(view.options.map((o) => [o.name, o.default]));
  return { view: preset.view, kernel: preset.kernel, options: { ...options, ...preset.options },
    points: preset.points.map((p) => [...p]), strings: [...preset.strings], preset: preset.name,
    touched: false };
}
