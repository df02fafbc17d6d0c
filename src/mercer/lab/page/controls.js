// Sliders, choices and switches from their descriptions.

const shown = (v, whole) => (whole ? String(Math.round(v)) : Number(v.toPrecision(3)).toString());
let counter = 0;

export function slider({ label, value, low, high, log, whole }, change) {
  const id = `c${counter++}`, row = document.createElement("div");
  row.className = "control";
  const name = document.createElement("label"), out = document.createElement("output"), input = document.createElement("input");
  name.htmlFor = id;
  name.textContent = label;
  out.htmlFor = id;
  Object.assign(input, { type: "range", id, min: 0, max: whole ? high - low : 400, step: 1 });
  const to = (v) => (whole ? v - low : log ? (400 * Math.log(v / low)) / Math.log(high / low) : (400 * (v - low)) / (high - low));
  const from = (t) => (whole ? low + t : log ? low * (high / low) ** (t / 400) : low + ((high - low) * t) / 400);
  const put = (v) => {
    input.value = to(v);
    out.textContent = shown(v, whole);
    input.setAttribute("aria-valuetext", out.textContent);
  };
  put(value);
  input.addEventListener("input", () => {
    const v = Number(shown(from(Number(input.value)), whole));
    out.textContent = shown(v, whole);
    input.setAttribute("aria-valuetext", out.textContent);
    change(v);
  });
  row.append(name, out, input);
  return { element: row, put, input };
}

function choice(option, value, change) {
  const row = document.createElement("label"), select = document.createElement("select");
  row.className = "field";
  row.append(`${option.label} `, select);
  for (const [each, words] of option.choices) select.append(new Option(words, each, false, each === value));
  select.addEventListener("change", () => change(select.value));
  return row;
}

function flag(option, value, change) {
  const row = document.createElement("label"), box = document.createElement("input");
  row.className = "flag";
  box.type = "checkbox";
  box.checked = value;
  box.addEventListener("change", () => change(box.checked));
  row.append(box, ` ${option.label}`);
  return row;
}

// All controls of a view; those that do not matter now are hidden.
export function options(parent, view, values, change) {
  const rows = [];
  const refresh = () => rows.forEach(([option, row]) => {
    row.hidden = Boolean(option.when) && !option.when[1].includes(values[option.when[0]]);
  });
  for (const option of view.options) {
    const set = (v) => { values[option.name] = v; refresh(); change(); };
    const value = values[option.name];
    const row = typeof option.default === "boolean" ? flag(option, value, set)
      : option.choices.length ? choice(option, value, set)
        : slider({ ...option, value }, set).element;
    rows.push([option, row]);
  }
  parent.replaceChildren(...rows.map(([, row]) => row));
  refresh();
}
