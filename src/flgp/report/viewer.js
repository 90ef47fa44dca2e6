// The point view of a report: points are splatted into an image with a depth buffer, which draws 100,000 of
// them in a few milliseconds on any machine, with or without a graphics card.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const canvas = document.getElementById("view");
  const context = canvas.getContext("2d");
  const byId = (id) => document.getElementById(id);

  // -- data ---------------------------------------------------------------------------------------------------

  const decode = (text, Type) => {
    const raw = atob(text);
    const bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return new Type(bytes.buffer);
  };
  const positions = (map) => ({
    label: map.label,
    axes: map.axes,
    width: map.width,
    points: decode(map.points, Int16Array),
    anchors: decode(map.anchors, Int16Array),
    extent: map.free ? [1, 1] : map.extent.map((size) => Math.max(size, 0.05)),
    free: map.free,
  });
  const maps = data.maps.map(positions);
  const n = data.n;
  const prediction = decode(data.prediction, Float32Array);
  const uncertainty = decode(data.uncertainty, Float32Array);
  let label = null;
  if (data.label) {
    const labeled = decode(data.labeled, Uint32Array);
    label = new Float32Array(n).fill(NaN);
    decode(data.label, Float32Array).forEach((v, k) => { label[labeled[k]] = v; });
  }
  // The number of each point's row in the user's table.
  const row = data.row ? decode(data.row, Uint32Array) : Uint32Array.from({ length: n }, (_, i) => i + 1);
  const likely = data.likely && {
    count: data.likely.count,
    codes: decode(data.likely.codes, data.likely.wide ? Uint16Array : Uint8Array),
    chances: decode(data.likely.chances, Uint16Array),
  };
  // What else the points can be coloured by, named channel0, channel1, …
  const channels = Object.fromEntries(data.channels.map((c, k) => [`channel${k}`, decode(c.values, Float32Array)]));
  data.channels.forEach((c, k) => { data.names[`channel${k}`] = c.name; });
  const scaleOf = (what) => what === "label" || what.startsWith("channel") ? "prediction" : what;
  const r = data.r;
  const neighbor = decode(data.neighbor, data.s > 65535 ? Uint32Array : Uint16Array);
  const z = Float32Array.from(decode(data.z.values, Int16Array), (value) => value * data.z.step);
  const lift = decode(data.lift, Float32Array); // (s, M), each anchor's features times their prior deviation
  const M = data.M;
  const s = data.s;
  let covariance = null;

  // The covariance from a point costs O(sM + nr): through the anchors, never point by point.
  // The other terms of f, as features of the points.
  const q = data.q;
  const others = decode(data.others, Float32Array);
  // The local term: a table of the distance between coordinates.
  const local = data.local && {
    at: decode(data.local.coordinates, Uint16Array),
    width: data.local.width,
    perStep: data.local.scale / data.local.step,
    table: decode(data.local.table, Float32Array),
  };
  const localCovariance = (i, j) => {
    let square = 0;
    for (let k = 0; k < local.width; k++) {
      const gap = local.at[i * local.width + k] - local.at[j * local.width + k];
      square += gap * gap;
    }
    const steps = Math.sqrt(square) * local.perStep;
    const low = Math.floor(steps);
    if (low >= local.table.length - 1) return 0;
    return local.table[low] + (steps - low) * (local.table[low + 1] - local.table[low]);
  };
  const covarianceFrom = (point) => {
    const source = new Float32Array(M);
    for (let k = 0; k < r; k++) {
      const at = neighbor[point * r + k] * M;
      const weight = z[point * r + k];
      for (let m = 0; m < M; m++) source[m] += weight * lift[at + m];
    }
    const anchors = new Float32Array(s);
    for (let j = 0; j < s; j++) {
      let total = 0;
      for (let m = 0; m < M; m++) total += lift[j * M + m] * source[m];
      anchors[j] = total;
    }
    const values = new Float32Array(n);
    for (let i = 0; i < n; i++) {
      let total = 0;
      for (let k = 0; k < r; k++) total += z[i * r + k] * anchors[neighbor[i * r + k]];
      for (let m = 0; m < q; m++) total += others[i * q + m] * others[point * q + m];
      values[i] = total + (local ? localCovariance(i, point) : 0);
    }
    return values;
  };

  // -- colours ------------------------------------------------------------------------------------------------

  const scales = {
    prediction: [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]],
    uncertainty: [[20, 14, 54], [99, 26, 128], [183, 55, 121], [252, 137, 97], [252, 253, 191]],
    covariance: [[22, 90, 190], [110, 160, 215], [178, 180, 184], [232, 130, 96], [190, 20, 45]],
  };
  const classColors = [[31, 119, 180], [255, 127, 14], [44, 160, 44], [214, 39, 40], [148, 103, 189],
    [140, 86, 75], [227, 119, 194], [188, 189, 34], [23, 190, 207], [120, 120, 200]];
  // Of more classes than that each gets a hue of its own, neighbours far apart.
  const ofHue = (hue, lightness) => [0, 8, 4].map((k) => {
    const x = (k + hue / 30) % 12;
    return Math.round(255 * (lightness - 0.65 * Math.min(lightness, 1 - lightness) * Math.max(-1, Math.min(x - 3, 9 - x, 1))));
  });
  const classColor = (k, count) => count <= classColors.length ? classColors[k]
    : ofHue((k * 137.508) % 360, [0.45, 0.58, 0.68][k % 3]);
  const packed = (c) => (255 << 24 | c[2] << 16 | c[1] << 8 | c[0]) >>> 0;
  const table = (stops) => {
    const result = new Uint32Array(256);
    for (let i = 0; i < 256; i++) {
      const x = i / 255 * (stops.length - 1);
      const low = Math.min(Math.floor(x), stops.length - 2);
      result[i] = packed(stops[low].map((v, k) => Math.round(v + (x - low) * (stops[low + 1][k] - v))));
    }
    return result;
  };
  // On a dark page the dark ends of a scale would vanish.
  const isDark = () => packedCss("--panel") % 256 < 100;
  const stopsOf = (name) => scales[name].map((c) => isDark() && c[0] + c[1] + c[2] < 330
    ? c.map((v, k) => Math.round(0.55 * v + 0.45 * [170, 150, 235][k])) : c);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const packedCss = (name) => {
    const hex = css(name).slice(1);
    return packed([0, 2, 4].map((k) => parseInt(hex.slice(k, k + 2), 16)));
  };

  const state = {
    map: 0, color: "prediction", flat: true, anchors: false, size: data.n > 20000 ? 2 : data.n > 2000 ? 4 : 6, selected: -1, only: -1,
    hovered: -1,
    yaw: 0.6, pitch: 0.35, zoom: 1, x: 0, y: 0, frameMilliseconds: 0, frames: 0,
  };
  const colors = new Uint32Array(n);
  const extent = (values, symmetric) => {
    // Ends that a few extreme values do not decide.
    const seen = Float32Array.from(values).filter((v) => !Number.isNaN(v)).sort();
    let low = seen[Math.floor(0.01 * (seen.length - 1))];
    let high = seen[Math.ceil(0.99 * (seen.length - 1))];
    if (symmetric) { high = Math.max(Math.abs(low), Math.abs(high)); low = -high; }
    return high > low ? [low, high] : [low - 0.5, low + 0.5];
  };
  const format = (v) => Number.isNaN(v) ? "–" : v === 0 || (Math.abs(v) >= 0.001 && Math.abs(v) < 1e5)
    ? String(Number(v.toPrecision(4))) : v.toExponential(2);
  const named = (v) => Number.isNaN(v) ? "–" : data.classes ? data.classes[v] : format(v);
  // The value of a channel as the user's table has it.
  const cell = (channel, v) => {
    if (channel.levels) return channel.levels[v];
    if (channel.kind === "date") return new Date(v * 86400000).toISOString().slice(0, 10);
    if (channel.kind === "time") return new Date(Math.round(v * 60) * 60000).toISOString().slice(11, 16);
    return String(Number(v.toPrecision(6)));
  };
  const channelOf = (what) => what.startsWith("channel") ? data.channels[Number(what.slice(7))] : null;
  // Names of the values of a colouring that has no scale.
  const levelsOf = (what) => what === "prediction" || what === "label" ? data.classes : channelOf(what)?.levels;

  const recolor = () => {
    const what = state.color;
    const values = { prediction, uncertainty, label, covariance, ...channels }[what];
    const grey = packedCss("--unlabelled");
    const levels = levelsOf(what);
    if (levels) {
      for (let i = 0; i < n; i++) {
        const v = values[i];
        colors[i] = Number.isNaN(v) ? grey : packed(classColor(v, levels.length));
      }
    } else {
      const [low, high] = extent(what === "label" ? prediction : values, what === "covariance");
      const lookup = table(stopsOf(scaleOf(what)));
      for (let i = 0; i < n; i++) {
        const v = values[i];
        colors[i] = Number.isNaN(v) ? grey
          : lookup[Math.max(0, Math.min(255, Math.round(255 * (v - low) / (high - low))))];
      }
      state.low = low;
      state.high = high;
    }
    drawLegend(levels);
  };

  const drawLegend = (levels) => {
    const legend = byId("legend");
    legend.replaceChildren();
    const add = (tag, text, style) => {
      const element = legend.appendChild(document.createElement(tag));
      element.textContent = text;
      Object.assign(element.style, style || {});
      return element;
    };
    if (levels) {
      levels.slice(0, 20).forEach((name, k) => {
        const chip = add("span", name);
        chip.className = "chip";
        chip.style.setProperty("--dot", `rgb(${classColor(k, levels.length)})`);
      });
      if (levels.length > 20) add("span", `and ${levels.length - 20} more`).className = "muted";
      return;
    }
    const stops = stopsOf(scaleOf(state.color));
    const shown = (v) => channelOf(state.color) ? cell(channelOf(state.color), v) : format(v);
    add("span", shown(state.low));
    add("i", "", { background: `linear-gradient(90deg, ${stops.map((c) => `rgb(${c})`).join(",")})` });
    add("span", shown(state.high));
    add("span", data.names[state.color]).className = "muted";
  };

  // -- drawing ------------------------------------------------------------------------------------------------

  let image = null;
  let pixels = null;
  let depth = null;
  const screen = new Float32Array(2 * n);
  const resize = () => {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const box = canvas.getBoundingClientRect();
    canvas.width = Math.max(1, Math.round(box.width * ratio));
    canvas.height = Math.max(1, Math.round(box.height * ratio));
    image = context.createImageData(canvas.width, canvas.height);
    pixels = new Uint32Array(image.data.buffer);
    depth = new Float32Array(pixels.length);
    draw(); // a canvas of a new size is empty: there may be no next frame before it is printed
  };
  const disc = (radius) => {
    const offsets = [];
    const reach = Math.floor(radius);
    for (let dy = -reach; dy <= reach; dy++) {
      for (let dx = -reach; dx <= reach; dx++) {
        if (dx * dx + dy * dy <= radius * radius) offsets.push(dy * canvas.width + dx);
      }
    }
    return { offsets: Int32Array.from(offsets), reach };
  };

  const projector = () => {
    const W = canvas.width;
    const H = canvas.height;
    // A flat map fills the canvas: both ways alike for positions, each way for eigenfunctions.
    const [across, upwards] = maps[state.map].extent;
    const free = maps[state.map].free;
    const fit = 0.46 * Math.min(W / across, H / upwards);
    const scale = (state.flat ? (free ? 0.46 * W : fit) : 0.36 * Math.min(W, H)) * state.zoom / 32767;
    const rise = state.flat && free ? H / W : 1;
    const yaw = state.flat ? 0 : state.yaw;
    const pitch = state.flat ? 0 : state.pitch;
    const cy = Math.cos(yaw), sy = Math.sin(yaw), cp = Math.cos(pitch), sp = Math.sin(pitch);
    const left = W / 2 + state.x * W, top = H / 2 + state.y * H;
    const bend = state.flat ? 0 : 0.25 / 32767;
    const width = maps[state.map].width;
    const deep = !state.flat && width > 2;
    return (p, i, out, at) => {
      const x = p[width * i], y = p[width * i + 1], w = deep ? p[width * i + 2] : 0;
      const along = x * cy + w * sy;
      const away = w * cy - x * sy;
      const up = y * cp - away * sp;
      const far = y * sp + away * cp;
      const shrink = scale / (1 + bend * far);
      out[at] = left + along * shrink;
      out[at + 1] = top - up * shrink * rise;
      return far;
    };
  };

  const splat = (x, y, far, color, dot) => {
    const W = canvas.width, H = canvas.height, reach = dot.reach;
    const px = Math.round(x), py = Math.round(y);
    // A dot that the edge would cut is left out.
    if (px < reach || py < reach || px >= W - reach || py >= H - reach) return;
    const base = py * W + px, offsets = dot.offsets;
    for (let k = 0; k < offsets.length; k++) {
      const at = base + offsets[k];
      if (far < depth[at]) { depth[at] = far; pixels[at] = color; }
    }
  };

  const ring = (i, radius, color) => {
    context.beginPath();
    context.arc(screen[2 * i], screen[2 * i + 1], radius, 0, 2 * Math.PI);
    context.lineWidth = 2 * (window.devicePixelRatio || 1);
    context.strokeStyle = color;
    context.stroke();
  };

  const draw = () => {
    const started = performance.now();
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    pixels.fill(packedCss("--panel"));
    depth.fill(Infinity);
    const project = projector();
    const map = maps[state.map];
    const small = disc(Math.max(0.6, state.size * ratio / 2));
    const large = disc((state.size + 4) * ratio / 2);
    for (let i = 0; i < n; i++) {
      if (hidden(i)) { screen[2 * i] = screen[2 * i + 1] = -1e6; continue; }
      const far = project(map.points, i, screen, 2 * i);
      const told = label !== null && state.color === "label" && !Number.isNaN(label[i]);
      splat(screen[2 * i], screen[2 * i + 1], told ? far - 1e6 : far, colors[i], told ? large : small);
    }
    if (state.anchors) {
      const at = new Float32Array(2);
      const dot = disc(1.2 * ratio);
      const color = packedCss("--text");
      for (let j = 0; j < s; j++) {
        // A little in front of its own points, but behind whatever is nearer.
        const far = project(map.anchors, j, at, 0);
        splat(at[0], at[1], far - 1500, color, dot);
      }
    }
    context.putImageData(image, 0, 0);
    if (state.hovered >= 0) ring(state.hovered, 6 * ratio, css("--text"));
    if (state.selected >= 0) {
      ring(state.selected, 8 * ratio, css("--text"));
      ring(state.selected, 11 * ratio, css("--accent"));
    }
    state.frameMilliseconds = performance.now() - started;
    state.frames++;
  };
  const hidden = (i) => state.only >= 0 && prediction[i] !== state.only && !(label && label[i] === state.only);
  let waiting = false;
  const request = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };

  // -- what the reader does -----------------------------------------------------------------------------------

  const nearest = (x, y, within) => {
    let best = -1;
    let closest = within * within;
    for (let i = 0; i < n; i++) {
      const dx = screen[2 * i] - x, dy = screen[2 * i + 1] - y;
      const square = dx * dx + dy * dy;
      if (square < closest) { closest = square; best = i; }
    }
    return best;
  };
  // What is known about a point, as pairs of a name and a value.
  const about = (i) => {
    const pairs = [[data.names.prediction, named(prediction[i])]];
    if (likely) {
      for (let k = 0; k < likely.count; k++) {
        const at = i * likely.count + k;
        pairs.push([`P(${data.classes[likely.codes[at]]})`, (likely.chances[at] / 65535).toFixed(3)]);
      }
    }
    pairs.push([data.names.uncertainty, format(uncertainty[i])]);
    if (label && !Number.isNaN(label[i])) pairs.push([data.names.label, named(label[i])]);
    data.channels.slice(0, 8).forEach((c, k) => {
      const value = channels[`channel${k}`][i];
      if (!Number.isNaN(value)) pairs.push([c.name, cell(c, value)]);
    });
    return pairs;
  };
  const describe = () => {
    const i = state.selected;
    if (i < 0) {
      byId("chosen").textContent = data.hint;
      return;
    }
    const parts = [`row ${row[i]}`, ...about(i).map((pair) => pair.join(" "))];
    if (covariance) parts.push(`prior variance here ${format(covariance[i])}`);
    byId("chosen").textContent = parts.join(" · ");
  };
  const tip = byId("tip");
  const hover = (i, x, y) => {
    if (i !== state.hovered) { state.hovered = i; request(); }
    tip.hidden = i < 0;
    if (i < 0) return;
    const head = document.createElement("b");
    head.textContent = `row ${row[i]}`;
    const rows = document.createElement("table");
    const pairs = about(i);
    if (covariance && state.color === "covariance") pairs.unshift(["kernel", format(covariance[i])]);
    for (const [name, value] of pairs) {
      const line = rows.insertRow();
      line.insertCell().textContent = name;
      line.insertCell().textContent = value;
    }
    tip.replaceChildren(head, rows);
    const left = x + 14 + tip.offsetWidth > canvas.clientWidth ? Math.max(0, x - 14 - tip.offsetWidth) : x + 14;
    tip.style.left = `${left}px`;
    tip.style.top = `${Math.max(0, Math.min(y + 14, canvas.clientHeight - tip.offsetHeight))}px`;
  };
  const select = (i) => {
    state.selected = i;
    if (i >= 0) {
      covariance = covarianceFrom(i);
      byId("color").querySelector("[value=covariance]").disabled = false;
      state.color = "covariance";
    } else if (state.color === "covariance") {
      state.color = "prediction";
    }
    byId("color").value = state.color;
    describe();
    recolor();
    request();
  };
  const turn = (dx, dy, slide) => {
    if (state.flat || slide) {
      state.x += dx / canvas.clientWidth;
      state.y += dy / canvas.clientHeight;
    } else {
      state.yaw += dx * 0.008;
      state.pitch = Math.max(-1.57, Math.min(1.57, state.pitch + dy * 0.008));
    }
    request();
  };
  const zoom = (factor) => { state.zoom = Math.max(0.2, Math.min(60, state.zoom * factor)); request(); };

  const pointers = new Map();
  let moved = 0;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    if (pointers.size === 1) moved = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) {
      const ratio = canvas.width / canvas.clientWidth;
      hover(nearest(event.offsetX * ratio, event.offsetY * ratio, 12 * ratio), event.offsetX, event.offsetY);
      return;
    }
    hover(-1);
    const now = [event.offsetX, event.offsetY];
    const dx = now[0] - before[0], dy = now[1] - before[1];
    moved += Math.abs(dx) + Math.abs(dy);
    if (pointers.size === 2) {
      const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      const gap = (at) => Math.hypot(at[0] - other[0], at[1] - other[1]) || 1;
      zoom(gap(now) / gap(before));
      turn(dx / 2, dy / 2, true);
    } else {
      turn(dx, dy, event.shiftKey);
    }
    pointers.set(event.pointerId, now);
  });
  const release = (event) => {
    const single = pointers.size === 1;
    pointers.delete(event.pointerId);
    if (event.type === "pointerup" && single && moved < 6) {
      const ratio = canvas.width / canvas.clientWidth;
      select(nearest(event.offsetX * ratio, event.offsetY * ratio, 16 * ratio));
    }
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => hover(-1));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * 0.0015));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-20, 0], ArrowRight: [20, 0], ArrowUp: [0, -20], ArrowDown: [0, 20] }[event.key];
    if (step) turn(step[0], step[1], event.shiftKey);
    else if (event.key === "+" || event.key === "=") zoom(1.2);
    else if (event.key === "-") zoom(1 / 1.2);
    else if (event.key === "Escape") select(-1);
    else return;
    event.preventDefault();
  });

  const option = (list, value, text, disabled) => {
    const element = list.appendChild(document.createElement("option"));
    element.value = value;
    element.textContent = text;
    element.disabled = Boolean(disabled);
  };
  maps.forEach((map, k) => option(byId("map"), k, map.label));
  option(byId("color"), "prediction", data.names.prediction);
  option(byId("color"), "uncertainty", data.names.uncertainty);
  if (label) option(byId("color"), "label", data.names.label);
  data.channels.forEach((c, k) => option(byId("color"), `channel${k}`, c.name));
  option(byId("color"), "covariance", data.names.covariance, true);
  const showAxes = () => {
    const axes = maps[state.map].axes.slice(0, state.flat ? 2 : 3);
    byId("axes").textContent = axes.length === 0 ? "nearby dots are alike; directions and gaps have no meaning" : (state.flat ? ["→", "↑"] : ["x:", "y:", "z:"])
      .slice(0, axes.length).map((mark, k) => `${mark} ${axes[k]}`).join("   ");
  };
  byId("map").addEventListener("change", (event) => { state.map = Number(event.target.value); showAxes(); request(); });
  byId("color").addEventListener("change", (event) => { state.color = event.target.value; recolor(); request(); });
  if (data.classes) {
    option(byId("class"), -1, "all classes");
    data.classes.forEach((name, k) => option(byId("class"), k, name));
    byId("class").addEventListener("change", (event) => {
      state.only = Number(event.target.value);
      hover(-1);
      request();
    });
  } else {
    byId("show-class").remove();
  }
  byId("flat").checked = !state.flat;
  byId("flat").addEventListener("change", (event) => { state.flat = !event.target.checked; showAxes(); request(); });
  byId("anchors").addEventListener("change", (event) => { state.anchors = event.target.checked; request(); });
  byId("size").value = state.size;
  byId("size").addEventListener("input", (event) => { state.size = Number(event.target.value); request(); });
  byId("reset").addEventListener("click", () => {
    Object.assign(state, { yaw: 0.6, pitch: 0.35, zoom: 1, x: 0, y: 0, only: -1 });
    if (data.classes) byId("class").value = "-1";
    select(-1);
  });
  byId("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    recolor();
    request();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { recolor(); request(); });
  // Paper is light, whatever the screen: draw at once, for the page is printed before the next frame.
  matchMedia("print").addEventListener("change", () => { recolor(); draw(); });
  new ResizeObserver(resize).observe(canvas);
  showAxes();
  describe();
  recolor();
  resize();
  // A row of a list shows its point.
  const pointOf = new Map(Array.from(row, (value, i) => [value, i]));
  const showRow = (number) => {
    if (!pointOf.has(number)) return;
    select(pointOf.get(number));
    canvas.scrollIntoView({ block: "center" });
  };
  window.flgpReport = { state, select, showRow, covarianceFrom, screen, draw };
})();
