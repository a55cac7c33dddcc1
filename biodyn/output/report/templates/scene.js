(function () {
  "use strict";
  var root = document.getElementById("scene");
  var data = JSON.parse(document.getElementById("scene-data").textContent);
  var canvas = root.querySelector("canvas"), pen = canvas.getContext("2d");
  if (!pen) { return; }
  // without scripts a still picture stands here
  root.querySelectorAll("[hidden]").forEach(function (one) { one.hidden = false; });
  var slider = root.querySelector("input[type=range]"), clock = root.querySelector("output");
  var speed = root.querySelector("select"), play = root.querySelector("[data-do=play]");
  var MISSING = -32768, TRAIL = 12, picked = null, SIDES = 10, RINGS = [[0, 0.45], [0.12, 0.85], [0.35, 1], [0.7, 0.8], [0.92, 0.55], [1, 0.3]];
  var frames = data.times.length, row = 0, playing = false, last = 0, elapsed = 0;
  // yaw about the vertical, pitch up, distance in m; the eye looks at the target
  var eye = { yaw: 0.55, pitch: 0.22, far: 3.6 }, middle = 0.85, target, start = [0, middle, 0];

  function numbers(text) {
    var bytes = atob(text), view = new DataView(new ArrayBuffer(bytes.length)), found = new Int16Array(bytes.length / 2), i;
    for (i = 0; i < bytes.length; i += 1) { view.setUint8(i, bytes.charCodeAt(i)); }
    for (i = 0; i < found.length; i += 1) { found[i] = view.getInt16(2 * i, true); }
    return found;
  }
  var points = numbers(data.points), residual = data.residual && numbers(data.residual);
  var markers = data.markers && { measured: numbers(data.markers.measured), apart: data.markers.apart && atob(data.markers.apart), count: data.markers.labels.length };
  var forces = data.forces.map(function (f) { return { color: f.color, place: numbers(f.place), force: numbers(f.force) }; });

  function at(list, number, count, scale) {
    var k = 3 * (row * count + number), x = list[k];
    return x === MISSING ? null : [x * scale, list[k + 1] * scale, list[k + 2] * scale];
  }
  function point(number) { return at(points, number, data.count, 0.001); }
  function minus(a, b) { return [a[0] - b[0], a[1] - b[1], a[2] - b[2]]; }
  function plus(a, b, s) { return [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]]; }
  function dot(a, b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
  function cross(a, b) { return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]; }
  function unit(a) { var n = Math.sqrt(dot(a, a)) || 1; return [a[0] / n, a[1] / n, a[2] / n]; }
  function shown(name) { var box = root.querySelector("[data-show=" + name + "]"); return box !== null && box.checked; }

  var width = 0, height = 0, lens = 1, ahead, right, up, place;
  function look() {
    var c = Math.cos(eye.pitch), way = [Math.sin(eye.yaw) * c, Math.sin(eye.pitch), Math.cos(eye.yaw) * c];
    place = plus(target, way, eye.far);
    ahead = [-way[0], -way[1], -way[2]];
    right = unit(cross(ahead, Math.abs(way[1]) > 0.999 ? [1, 0, 0] : [0, 1, 0]));
    if (Math.abs(way[1]) > 0.999) { right = [1, 0, 0]; }
    up = cross(right, ahead);
  }
  function seen(p) {
    var d = minus(p, place), far = dot(d, ahead);
    return far < 0.05 ? null : [width / 2 + lens * dot(d, right) / far, height / 2 - lens * dot(d, up) / far, far];
  }
  function line(a, b, color, thick) {
    var p = a && seen(a), q = b && seen(b);
    if (!p || !q) { return; }
    pen.strokeStyle = color; pen.lineWidth = thick; pen.beginPath(); pen.moveTo(p[0], p[1]); pen.lineTo(q[0], q[1]); pen.stroke();
  }
  function area(corners, fill, edge) {
    var flat = corners.map(seen);
    if (flat.indexOf(null) >= 0) { return; }
    pen.beginPath();
    flat.forEach(function (p, i) { if (i) { pen.lineTo(p[0], p[1]); } else { pen.moveTo(p[0], p[1]); } });
    pen.closePath();
    if (fill) { pen.fillStyle = fill; pen.fill(); }
    if (edge) { pen.strokeStyle = edge; pen.lineWidth = 1; pen.stroke(); }
  }
  function arrow(foot, way, color, thick) {
    var tip = plus(foot, way, 1), p = seen(foot), q = seen(tip), n;
    if (!p || !q) { return; }
    n = Math.hypot(q[0] - p[0], q[1] - p[1]);
    line(foot, tip, color, thick);
    if (n < 4) { return; }
    var x = (q[0] - p[0]) / n, y = (q[1] - p[1]) / n, h = Math.min(12, n / 2);
    pen.fillStyle = color; pen.beginPath(); pen.moveTo(q[0], q[1]);
    pen.lineTo(q[0] - h * x - h * y / 2.2, q[1] - h * y + h * x / 2.2);
    pen.lineTo(q[0] - h * x + h * y / 2.2, q[1] - h * y - h * x / 2.2);
    pen.closePath(); pen.fill();
  }
  function floor() {
    var k, x, z, x0 = Math.floor(target[0]) - 4, z0 = Math.floor(target[2]) - 3;
    for (k = 0; k <= 16; k += 1) { x = x0 + k / 2; line([x, 0, z0], [x, 0, z0 + 6], "#e3e8ec", 1); }
    for (k = 0; k <= 12; k += 1) { z = z0 + k / 2; line([x0, 0, z], [x0 + 8, 0, z], "#e3e8ec", 1); }
    data.plates.forEach(function (plate) {
      var t = data.times[row], color = null, middle = [0, 0, 0], p;
      plate.contacts.forEach(function (c) { if (t >= c[0] && t <= c[1]) { color = c[2]; } });
      pen.globalAlpha = color ? 0.3 : 1;
      area(plate.corners, color || "#eef1f4", null);
      pen.globalAlpha = 1;
      area(plate.corners, null, "#9aa5b1");
      plate.corners.forEach(function (c) { middle = plus(middle, c, 0.25); });
      p = seen(middle);
      if (p) { pen.fillStyle = "#66727f"; pen.font = "12px system-ui, sans-serif"; pen.textAlign = "center"; pen.fillText(plate.number, p[0], p[1] + 4); }
    });
    var before = null, keep = row, now;
    for (row = 0; row < frames; row += Math.max(1, Math.floor(frames / 150))) {
      now = point(0);
      if (now) { now[1] = 0; }
      if (before && now) { line(before, now, "#c3cbd3", 1.5); }
      before = now;
    }
    row = keep;
  }
  // a spindle's faces with their depth: those behind are drawn first
  function spindle(one, faces) {
    var a = point(one[0]), b = point(one[1]), radius = one[2] / 1000;
    if (!a || !b) { return; }
    var axis = minus(b, a), way = unit(axis), u = unit(cross(way, Math.abs(way[1]) < 0.9 ? [0, 1, 0] : [1, 0, 0])), w = cross(way, u), rings;
    rings = RINGS.map(function (ring) {
      var found = [], k, s, c;
      for (k = 0; k < SIDES; k += 1) {
        c = radius * ring[1] * Math.cos(2 * Math.PI * k / SIDES); s = radius * ring[1] * Math.sin(2 * Math.PI * k / SIDES);
        found.push(plus(plus(plus(a, axis, ring[0]), u, c), w, s));
      }
      return found;
    });
    for (var r = 0; r + 1 < rings.length; r += 1) {
      for (var k = 0; k < SIDES; k += 1) {
        var n = (k + 1) % SIDES, corners = [rings[r][k], rings[r][n], rings[r + 1][n], rings[r + 1][k]];
        var normal = unit(cross(minus(corners[1], corners[0]), minus(corners[3], corners[0])));
        var middle = plus(plus([0, 0, 0], corners[0], 0.5), corners[2], 0.5), light;
        if (dot(normal, minus(middle, place)) < 0) { normal = [-normal[0], -normal[1], -normal[2]]; }
        light = 0.62 + 0.38 * Math.abs(dot(normal, unit([0.4, 0.8, 0.45])));
        faces.push([dot(minus(middle, place), ahead), corners, light]);
      }
    }
  }
  function body() {
    var faces = [];
    data.spindles.forEach(function (one) { spindle(one, faces); });
    faces.sort(function (a, b) { return b[0] - a[0]; });
    pen.globalAlpha = 0.55;
    faces.forEach(function (face) {
      var l = face[2];
      area(face[1], "rgb(" + Math.round(214 * l) + "," + Math.round(196 * l) + "," + Math.round(180 * l) + ")", null);
    });
    pen.globalAlpha = 1;
    pen.lineCap = "round";
    data.bones.forEach(function (bone) { line(point(bone[0]), point(bone[1]), "#3d4852", 3); });
    data.bones.forEach(function (bone) {
      var p = point(bone[0]); p = p && seen(p);
      if (p) { pen.fillStyle = "#1f2933"; pen.beginPath(); pen.arc(p[0], p[1], 3.2, 0, 7); pen.fill(); }
    });
  }
  function fitted(m, k) {
    return m.map(function (value, axis) { var d = markers.apart.charCodeAt(k + axis); return value + (d > 127 ? d - 256 : d) / 1000; });
  }
  function bead(m, color, radius, ring) {
    var p = m && seen(m);
    if (!p) { return; }
    pen.beginPath(); pen.arc(p[0], p[1], radius, 0, 7);
    if (ring) { pen.strokeStyle = color; pen.lineWidth = 1; pen.stroke(); } else { pen.fillStyle = color; pen.fill(); }
  }
  function measured(k) { return at(markers.measured, k, markers.count, 0.001); }
  function trail(k, color) {
    var keep = row, before = null, now, from = Math.max(0, keep - TRAIL), to = Math.min(frames - 1, keep + TRAIL);
    pen.globalAlpha = 0.5;
    for (row = from; row <= to; row += 1) {
      now = measured(k);
      if (before && now) { line(before, now, color, 1); }
      before = now;
    }
    pen.globalAlpha = 1;
    row = keep;
  }
  function dots() {
    var names = shown("names"), trails = shown("trails"), k, m, f, p, color;
    data.markers.links.forEach(function (pair) { line(measured(pair[0]), measured(pair[1]), "#66727f", 1.5); });
    for (k = 0; k < markers.count; k += 1) {
      m = measured(k); color = data.markers.colors ? data.markers.colors[k] : "#0b6e4f";
      if (trails) { trail(k, color); }
      f = m && markers.apart && fitted(m, 3 * (row * markers.count + k));
      if (f && Math.hypot(m[0] - f[0], m[1] - f[1], m[2] - f[2]) > 0.02) { line(m, f, "#b3261e", 2); }
      bead(f, "#0b6e4f", 4.2, true);
      bead(m, color, data.markers.labels[k] === picked ? 7 : data.markers.colors ? 3.5 : 2.2, false);
      p = m && (names || data.markers.labels[k] === picked) && seen(m);
      if (p) { pen.fillStyle = "#1f2933"; pen.font = "11px system-ui, sans-serif"; pen.textAlign = "left"; pen.fillText(data.markers.labels[k], p[0] + 5, p[1] - 4); }
    }
  }
  function draw() {
    var ratio = window.devicePixelRatio || 1, here = point(0);
    width = canvas.clientWidth; height = Math.round(Math.min(520, Math.max(260, 0.62 * width)));
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio); canvas.style.height = height + "px";
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    lens = 1.5 * height;
    target = shown("follow") && here ? [here[0], middle, here[2]] : start;
    look();
    pen.fillStyle = "#fbfcfd"; pen.fillRect(0, 0, width, height);
    floor();
    if (shown("body")) { body(); }
    if (markers && shown("markers")) { dots(); }
    if (shown("forces")) {
      forces.forEach(function (f) {
        var foot = at(f.place, 0, 1, 0.001), way = at(f.force, 0, 1, 0.001);
        if (foot && way) { arrow(foot, way, f.color, 3); }
      });
      var pull = data.residual ? at(residual, 0, 1, 0.01) : null;
      if (here && pull) { arrow(here, pull, "#b3261e", 2); }
    }
    clock.textContent = data.times[row].toFixed(2) + " s";
    slider.value = row;
    canvas.dataset.row = row;
    document.dispatchEvent(new CustomEvent("biodyn-time", { detail: data.times[row] }));
  }
  function go(to) { row = Math.max(0, Math.min(frames - 1, to)); draw(); }
  function tick(now) {
    if (!playing) { return; }
    elapsed += Math.min(0.1, (now - last) / 1000) * Number(speed.value); last = now;
    var step = frames > 1 ? data.times[1] - data.times[0] : 1, whole = Math.floor(elapsed / step);
    if (whole > 0) { elapsed -= whole * step; go(row + whole >= frames ? 0 : row + whole); }
    window.requestAnimationFrame(tick);
  }
  function toggle() {
    playing = !playing; play.textContent = playing ? "Pause" : "Play"; play.setAttribute("aria-pressed", String(playing));
    if (playing) { last = performance.now(); elapsed = 0; window.requestAnimationFrame(tick); }
  }
  function turn(yaw, pitch) { eye.yaw += yaw; eye.pitch = Math.max(-0.2, Math.min(Math.PI / 2, eye.pitch + pitch)); draw(); }
  function near(factor) { eye.far = Math.max(0.8, Math.min(12, eye.far * factor)); draw(); }

  var VIEWS = { right: [0, 0.05], front: [Math.PI / 2, 0.05], top: [0, Math.PI / 2], free: [0.55, 0.22] };
  root.querySelectorAll("[data-view]").forEach(function (button) {
    button.addEventListener("click", function () { eye.yaw = VIEWS[button.dataset.view][0]; eye.pitch = VIEWS[button.dataset.view][1]; draw(); });
  });
  root.querySelectorAll("[data-show]").forEach(function (box) { box.addEventListener("change", draw); });
  play.addEventListener("click", toggle);
  root.querySelector("[data-do=back]").addEventListener("click", function () { go(row - 1); });
  root.querySelector("[data-do=on]").addEventListener("click", function () { go(row + 1); });
  slider.max = frames - 1;
  slider.addEventListener("input", function () { go(Number(slider.value)); });
  var held = {}, apart = 0;
  canvas.addEventListener("pointerdown", function (event) { canvas.setPointerCapture(event.pointerId); held[event.pointerId] = [event.clientX, event.clientY]; apart = 0; });
  canvas.addEventListener("pointermove", function (event) {
    var before = held[event.pointerId], ids = Object.keys(held), size;
    if (!before) { return; }
    held[event.pointerId] = [event.clientX, event.clientY];
    if (ids.length === 2) {
      size = Math.hypot(held[ids[0]][0] - held[ids[1]][0], held[ids[0]][1] - held[ids[1]][1]);
      if (apart && size) { near(apart / size); }
      apart = size;
    } else { turn((before[0] - event.clientX) / 150, (event.clientY - before[1]) / 150); }
  });
  ["pointerup", "pointercancel"].forEach(function (kind) { canvas.addEventListener(kind, function (event) { delete held[event.pointerId]; apart = 0; }); });
  canvas.addEventListener("wheel", function (event) { event.preventDefault(); near(event.deltaY > 0 ? 1.1 : 1 / 1.1); }, { passive: false });
  canvas.addEventListener("keydown", function (event) {
    var key = event.key, keys = { ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };
    if (keys[key]) { turn(keys[key][0], keys[key][1]); } else if (key === " ") { toggle(); } else if (key === ",") { go(row - 1); }
    else if (key === ".") { go(row + 1); } else if (key === "+") { near(1 / 1.1); } else if (key === "-") { near(1.1); } else { return; }
    event.preventDefault();
  });
  window.addEventListener("resize", draw);
  // a table beside the view names a marker and a time
  document.querySelectorAll("[data-time]").forEach(function (button) {
    button.addEventListener("click", function () {
      picked = button.dataset.marker;
      document.dispatchEvent(new CustomEvent("biodyn-go", { detail: Number(button.dataset.time) }));
      draw(); root.scrollIntoView();
    });
  });
  // curves ask where the view stands, or send it to a time
  document.addEventListener("biodyn-ask", draw);
  document.addEventListener("biodyn-go", function (event) {
    var nearest = 0, k;
    for (k = 1; k < frames; k += 1) { if (Math.abs(data.times[k] - event.detail) < Math.abs(data.times[nearest] - event.detail)) { nearest = k; } }
    if (nearest !== row) { go(nearest); }
  });
  for (row = 0; row < frames && !point(0); row += 1) { /* the first frame with a pose */ }
  middle = data.top / 2;
  eye.far = 2.1 * Math.max(0.8, data.top);
  start = point(0) ? [point(0)[0], middle, point(0)[2]] : [0, middle, 0];
  go(Math.min(frames - 1, Math.max(row, Math.floor(frames / 2))));
}());
