// The 3-D views of a page. A view holds one person or several, superimposed or side by side, through time or over a gait cycle.
document.querySelectorAll("[data-scene]").forEach(function (root) {
  "use strict";
  var data = JSON.parse(root.querySelector("script[type='application/json']").textContent);
  var canvas = root.querySelector("canvas"), pen = canvas.getContext("2d");
  if (!pen) { return; }
  // without scripts a static picture is shown
  root.querySelectorAll("[hidden]").forEach(function (one) { one.hidden = false; });
  var slider = root.querySelector("input[type=range]"), clock = root.querySelector("output");
  var speed = root.querySelector("select"), play = root.querySelector("[data-do=play]");
  var MISSING = -32768, TRAIL = 12, STEPS = 100, picked = null, SIDES = 10, RINGS = [[0, 0.45], [0.12, 0.85], [0.35, 1], [0.7, 0.8], [0.92, 0.55], [1, 0.3]];
  var LAMP = unit([0.4, 0.8, 0.45]), CIRCLE = [], i;
  for (i = 0; i < SIDES; i += 1) { CIRCLE.push([Math.cos(2 * Math.PI * i / SIDES), Math.sin(2 * Math.PI * i / SIDES)]); }
  var row = 0, playing = false, last = 0, elapsed = 0;
  // yaw about the vertical, pitch up, distance in m; the eye looks at the target
  var eye = { yaw: 0.55, pitch: 0.22, far: 3.6 }, middle, target;

  function numbers(text) {
    var bytes = atob(text), view = new DataView(new ArrayBuffer(bytes.length)), found = new Int16Array(bytes.length / 2), i;
    for (i = 0; i < bytes.length; i += 1) { view.setUint8(i, bytes.charCodeAt(i)); }
    for (i = 0; i < found.length; i += 1) { found[i] = view.getInt16(2 * i, true); }
    return found;
  }
  function pale(color) { return [1, 3, 5].map(function (i) { return Math.round(0.38 * parseInt(color.slice(i, i + 2), 16) + 0.62 * 255); }); }
  var people = data.persons.map(function (p) {
    return {
      data: p, times: p.times, row: 0, shift: [0, 0, 0], bone: p.color, skin: data.persons.length > 1 ? pale(p.color) : [214, 196, 180],
      points: numbers(p.points), residual: p.residual && numbers(p.residual), ghost: p.ghost && atob(p.ghost),
      markers: p.markers && { measured: numbers(p.markers.measured), apart: p.markers.apart && atob(p.markers.apart), count: p.markers.labels.length },
      forces: p.forces.map(function (f) { return { color: f.color, place: numbers(f.place), force: numbers(f.force) }; })
    };
  });
  var me = people[0], several = people.length > 1, abreast = several && !data.one_place;
  var cycles = people.map(whole_cycle), can_cycle = several && cycles.every(Boolean) && !data.one_place, by_cycle = can_cycle;
  // a cycle of the side that all have, known from end to end if there is one
  function whole_cycle(p) {
    var side = people[0].data.cycles.length && people[0].data.cycles[0][0];
    var own = p.data.cycles.filter(function (c) { return c[0] === side; });
    function known(c) { return [c[1], c[2]].every(function (t) { p.row = nearest(p, t); return root_of(p) !== null; }); }
    return own.filter(known)[0] || own[0] || null;
  }
  function nearest(p, t) {
    var low = 0, high = p.times.length - 1, mid;
    while (high - low > 1) { mid = (low + high) >> 1; if (p.times[mid] <= t) { low = mid; } else { high = mid; } }
    return Math.abs(p.times[high] - t) < Math.abs(p.times[low] - t) ? high : low;
  }
  function duration(p) { return p.times[p.times.length - 1] - p.times[0]; }
  function step_s(p) { return p.times.length > 1 ? duration(p) / (p.times.length - 1) : 1; }
  function rows() {
    if (by_cycle) { return STEPS + 1; }
    return several ? Math.round(Math.max.apply(null, people.map(duration)) / Math.min.apply(null, people.map(step_s))) + 1 : me.times.length;
  }
  // seconds of a row of the slider
  function row_s() {
    if (by_cycle) { return (cycles[0][2] - cycles[0][1]) / STEPS; }
    return several ? Math.min.apply(null, people.map(step_s)) : step_s(people[0]);
  }
  function time_of(p, k) {
    if (by_cycle) { return cycles[k][1] + (cycles[k][2] - cycles[k][1]) * row / STEPS; }
    return several ? (data.one_place ? people[0].times[0] : p.times[0]) + row * row_s() : p.times[row];
  }
  function set_rows() {
    people.forEach(function (p, k) {
      p.row = several ? nearest(p, time_of(p, k)) : row;
      p.shift = [0, 0, 0];
      if (!several) { return; }
      if (data.one_place) { p.shift = minus(p.data.centre, people[0].data.centre); return; }
      if (abreast) { return; }
      var here = root_of(people[0]), own = root_of(p);
      if (here && own) { p.shift = [here[0] - own[0], 0, here[2] - own[2]]; }
    });
  }

  // a position in m
  function at(p, list, number, count) {
    var k = 3 * (p.row * count + number), x = list[k];
    return x === MISSING ? null : [x * 0.001 + p.shift[0], list[k + 1] * 0.001, list[k + 2] * 0.001 + p.shift[2]];
  }
  function root_of(p) { return at(p, p.points, 0, p.data.count); }
  function point(number) { return at(me, me.points, number, me.data.count); }
  function force_at(list, scale) { var k = 3 * me.row, x = list[k]; return x === MISSING ? null : [x * scale, list[k + 1] * scale, list[k + 2] * scale]; }
  function minus(a, b) { return [a[0] - b[0], a[1] - b[1], a[2] - b[2]]; }
  function plus(a, b, s) { return [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]]; }
  function dot(a, b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
  function cross(a, b) { return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]; }
  function unit(a) { var n = Math.sqrt(dot(a, a)) || 1; return [a[0] / n, a[1] / n, a[2] / n]; }
  function box(name) { return root.querySelector("[data-show=" + name + "]"); }
  function shown(name) { var one = box(name); return one !== null && one.checked; }

  var width = 0, height = 0, middle_x = 0, lens = 1, ahead, right, up, place;
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
    return far < 0.05 ? null : [middle_x + lens * dot(d, right) / far, height / 2 - lens * dot(d, up) / far, far];
  }
  function line(a, b, color, thick) {
    var p = a && seen(a), q = b && seen(b);
    if (!p || !q) { return; }
    pen.strokeStyle = color; pen.lineWidth = thick; pen.beginPath(); pen.moveTo(p[0], p[1]); pen.lineTo(q[0], q[1]); pen.stroke();
  }
  // many lines at one stroke: of [from, to] each
  function lines(pairs, color, thick) {
    pen.strokeStyle = color; pen.lineWidth = thick; pen.beginPath();
    pairs.forEach(function (pair) {
      var p = seen(pair[0]), q = seen(pair[1]);
      if (p && q) { pen.moveTo(p[0], p[1]); pen.lineTo(q[0], q[1]); }
    });
    pen.stroke();
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
  function write(words, p, dx, dy, align) {
    pen.fillStyle = "#1f2933"; pen.font = "12px system-ui, sans-serif"; pen.textAlign = align; pen.fillText(words, p[0] + dx, p[1] + dy);
  }
  function floor() {
    var k, x, z, x0 = Math.floor(target[0]) - 4, z0 = Math.floor(target[2]) - 3, grid = [];
    for (k = 0; k <= 16; k += 1) { x = x0 + k / 2; grid.push([[x, 0, z0], [x, 0, z0 + 6]]); }
    for (k = 0; k <= 12; k += 1) { z = z0 + k / 2; grid.push([[x0, 0, z], [x0 + 8, 0, z]]); }
    lines(grid, "#e3e8ec", 1);
  }
  function ground() {
    me.data.plates.forEach(function (plate) {
      var t = me.times[me.row], color = null, middle = [0, 0, 0], p;
      var corners = plate.corners.map(function (c) { return [c[0] + me.shift[0], c[1], c[2] + me.shift[2]]; });
      plate.contacts.forEach(function (c) { if (t >= c[0] && t <= c[1]) { color = c[2]; } });
      pen.globalAlpha = color ? 0.3 : 1;
      area(corners, color || "#eef1f4", null);
      pen.globalAlpha = 1;
      area(corners, null, "#9aa5b1");
      corners.forEach(function (c) { middle = plus(middle, c, 0.25); });
      p = seen(middle);
      if (p) { pen.fillStyle = "#66727f"; pen.font = "12px system-ui, sans-serif"; pen.textAlign = "center"; pen.fillText(plate.number, p[0], p[1] + 4); }
    });
    var before = null, keep = me.row, way = [], now;
    for (me.row = 0; me.row < me.times.length; me.row += Math.max(1, Math.floor(me.times.length / 100))) {
      now = point(0);
      if (now) { now[1] = 0; }
      if (before && now) { way.push([before, now]); }
      before = now;
    }
    me.row = keep;
    lines(way, "#c3cbd3", 1.5);
  }
  // a spindle's faces with their depth: those behind are drawn first
  function spindle(one, faces) {
    var a = point(one[0]), b = point(one[1]), radius = one[2] / 1000;
    if (!a || !b) { return; }
    var axis = minus(b, a), way = unit(axis), u = unit(cross(way, Math.abs(way[1]) < 0.9 ? [0, 1, 0] : [1, 0, 0])), w = cross(way, u), rings;
    rings = RINGS.map(function (ring) {
      var heart = plus(a, axis, ring[0]), wide = radius * ring[1];
      return CIRCLE.map(function (c) { return plus(plus(heart, u, wide * c[0]), w, wide * c[1]); });
    });
    for (var r = 0; r + 1 < rings.length; r += 1) {
      for (var k = 0; k < SIDES; k += 1) {
        var n = (k + 1) % SIDES, corners = [rings[r][k], rings[r][n], rings[r + 1][n], rings[r + 1][k]];
        var normal = unit(cross(minus(corners[1], corners[0]), minus(corners[3], corners[0])));
        var middle = [(corners[0][0] + corners[2][0]) / 2, (corners[0][1] + corners[2][1]) / 2, (corners[0][2] + corners[2][2]) / 2];
        // normals point outwards: faces of the far side are hidden
        if (dot(normal, minus(middle, place)) > 0) { continue; }
        faces.push([dot(minus(middle, place), ahead), corners, 0.62 + 0.38 * Math.abs(dot(normal, LAMP)), me.skin, one[3] ? 0.3 : 1]);
      }
    }
  }
  function bodies(drawn) {
    var faces = [];
    drawn.forEach(function (p) { me = p; p.data.spindles.forEach(function (one) { spindle(one, faces); }); });
    faces.sort(function (a, b) { return b[0] - a[0]; });
    faces.forEach(function (face) {
      pen.globalAlpha = 0.75 * face[4];
      var l = face[2], s = face[3];
      area(face[1], "rgb(" + Math.round(s[0] * l) + "," + Math.round(s[1] * l) + "," + Math.round(s[2] * l) + ")", null);
    });
    pen.globalAlpha = 1;
    drawn.forEach(function (p) { me = p; bones(); });
  }
  function bones() {
    var thin = me.ghost && shown("ghost") ? 0.4 : 1;
    pen.lineCap = "round";
    function hue(bone, color) { return bone[2] ? "#b7bfc7" : color; }
    me.data.bones.forEach(function (bone) { line(point(bone[0]), point(bone[1]), hue(bone, me.bone), 3 * thin); });
    me.data.bones.forEach(function (bone) { bead(point(bone[0]), hue(bone, several ? me.bone : "#1f2933"), 3.2 * thin, false); });
  }
  // the band of the places of both ends of a bone: the hull of two circles
  function ghost() {
    me.data.bones.forEach(function (bone) {
      var ends = bone.slice(0, 2).map(function (number) {
        var p = point(number), q = p && seen(p);
        return q && [q[0], q[1], lens * me.ghost.charCodeAt(me.row * me.data.count + number) / 1000 / q[2]];
      }), a = ends[0], b = ends[1], apart, way, open;
      if (!a || !b) { return; }
      apart = Math.hypot(b[0] - a[0], b[1] - a[1]); way = Math.atan2(b[1] - a[1], b[0] - a[0]);
      pen.beginPath();
      if (apart <= Math.abs(a[2] - b[2])) { pen.arc(a[0], a[1], Math.max(a[2], b[2]), 0, 7); } else {
        open = Math.acos((a[2] - b[2]) / apart);
        pen.arc(a[0], a[1], a[2], way + open, way - open); pen.arc(b[0], b[1], b[2], way - open, way + open); pen.closePath();
      }
      pen.globalAlpha = 0.22; pen.fillStyle = "#0072b2"; pen.fill();
      pen.globalAlpha = 0.8; pen.strokeStyle = "#0072b2"; pen.lineWidth = 1; pen.stroke();
      pen.globalAlpha = 1;
    });
  }
  function fitted(m, k) {
    return m.map(function (value, axis) { var d = me.markers.apart.charCodeAt(k + axis); return value + (d > 127 ? d - 256 : d) / 1000; });
  }
  function bead(m, color, radius, ring) {
    var p = m && seen(m);
    if (!p) { return; }
    pen.beginPath(); pen.arc(p[0], p[1], radius, 0, 7);
    if (ring) { pen.strokeStyle = color; pen.lineWidth = 1; pen.stroke(); } else { pen.fillStyle = color; pen.fill(); }
  }
  function measured(k) { return at(me, me.markers.measured, k, me.markers.count); }
  function trail(k, color) {
    var keep = me.row, before = null, now, from = Math.max(0, keep - TRAIL), to = Math.min(me.times.length - 1, keep + TRAIL);
    pen.globalAlpha = 0.5;
    for (me.row = from; me.row <= to; me.row += 1) {
      now = measured(k);
      if (before && now) { line(before, now, color, 1); }
      before = now;
    }
    pen.globalAlpha = 1;
    me.row = keep;
  }
  function dots() {
    var names = shown("names"), trails = shown("trails"), own = me.data.markers, k, m, f, p, color;
    own.links.forEach(function (pair) { line(measured(pair[0]), measured(pair[1]), "#66727f", 1.5); });
    for (k = 0; k < me.markers.count; k += 1) {
      m = measured(k); color = own.colors ? own.colors[k] : several ? me.bone : "#0b6e4f";
      if (trails) { trail(k, color); }
      f = m && me.markers.apart && fitted(m, 3 * (me.row * me.markers.count + k));
      if (f && Math.hypot(m[0] - f[0], m[1] - f[1], m[2] - f[2]) > 0.02) { line(m, f, "#b3261e", 2); }
      bead(f, color, 4.2, true);
      bead(m, color, own.labels[k] === picked ? 7 : own.colors ? 3.5 : 2.2, false);
      p = m && (names || own.labels[k] === picked) && seen(m);
      if (p) { write(own.labels[k], p, 5, -4, "left"); }
    }
  }
  function loads() {
    var here = point(0), pull = me.residual && force_at(me.residual, 0.01);
    me.forces.forEach(function (f) {
      var foot = at(me, f.place, 0, 1), way = force_at(f.force, 0.001);
      if (foot && way) { arrow(foot, way, several && !abreast ? me.bone : f.color, 3); }
    });
    if (here && pull) { arrow(here, pull, "#b3261e", 2); }
  }
  // some of the persons in the part of the canvas from `left`
  function part(drawn, left, wide) {
    me = drawn[0];
    var here = point(0);
    middle_x = left + wide / 2;
    target = shown("follow") && here ? [here[0], middle, here[2]] : me.start;
    look();
    pen.save(); pen.beginPath(); pen.rect(left, 0, wide, height); pen.clip();
    pen.fillStyle = "#fbfcfd"; pen.fillRect(left, 0, wide, height);
    floor();
    drawn.forEach(function (p, k) { me = p; if (!k || data.one_place) { ground(); } });
    if (shown("body")) { bodies(drawn); }
    drawn.forEach(function (p) {
      me = p;
      if (me.ghost && shown("ghost")) { ghost(); }
      if (me.markers && shown("markers")) { dots(); }
      if (shown("forces")) { loads(); }
    });
    pen.restore();
  }
  function draw() {
    var ratio = window.devicePixelRatio || 1, wide;
    if (!canvas.clientWidth) { return; }
    width = canvas.clientWidth; height = Math.round(Math.min(520, Math.max(260, 0.62 * width)));
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio); canvas.style.height = height + "px";
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    set_rows();
    wide = abreast ? width / people.length : width;
    lens = Math.min(1.5 * height, 2.6 * wide);
    if (abreast) { people.forEach(function (p, k) { part([p], k * wide, wide); }); } else { part(people, 0, width); }
    if (several) { legend(wide); }
    var t = time_of(people[0], 0);
    clock.textContent = by_cycle ? row + " % of the cycle" : t.toFixed(2) + " s";
    slider.max = rows() - 1; slider.value = row;
    canvas.dataset.row = row;
    document.dispatchEvent(new CustomEvent("biodyn-time", { detail: { time: t, moving: playing || root.contains(document.activeElement), percent: by_cycle ? row : null, side: by_cycle ? cycles[0][0] : null } }));
  }
  function legend(wide) {
    people.forEach(function (p, k) {
      var x = abreast ? k * wide + 8 : 8, y = abreast ? 18 : 18 + 18 * k;
      pen.fillStyle = "rgb(" + p.skin.join() + ")"; pen.fillRect(x, y - 10, 12, 12);
      pen.strokeStyle = p.bone; pen.lineWidth = 2; pen.strokeRect(x, y - 10, 12, 12);
      pen.save(); pen.beginPath(); pen.rect(x, 0, (abreast ? wide : width) - 12, height); pen.clip();
      write(p.data.name, [x, y], 18, 0, "left");
      pen.restore();
    });
  }
  function go(to) { row = Math.max(0, Math.min(rows() - 1, to)); draw(); }
  function tick(now) {
    if (!playing) { return; }
    elapsed += Math.min(0.1, (now - last) / 1000) * Number(speed.value); last = now;
    var step = row_s(), whole = Math.floor(elapsed / step);
    if (whole > 0) { elapsed -= whole * step; go(row + whole >= rows() ? 0 : row + whole); }
    window.requestAnimationFrame(tick);
  }
  function toggle() {
    playing = !playing; play.textContent = playing ? "Pause" : "Play"; play.setAttribute("aria-pressed", String(playing));
    if (playing) { last = performance.now(); elapsed = 0; window.requestAnimationFrame(tick); }
  }
  function turn(yaw, pitch) { eye.yaw += yaw; eye.pitch = Math.max(-0.2, Math.min(Math.PI / 2, eye.pitch + pitch)); draw(); }
  function near(factor) { eye.far = Math.max(0.8, Math.min(12, eye.far * factor)); draw(); }
  function pressed(button, on) { if (button) { button.setAttribute("aria-pressed", String(on)); } }
  function lay() { if (!several) { return; } abreast = !abreast; pressed(root.querySelector("[data-do=abreast]"), abreast); draw(); }
  // the same time in the other representation
  function change_clock() {
    if (!can_cycle) { return; }
    var t = time_of(people[0], 0), s;
    by_cycle = !by_cycle; s = row_s();
    pressed(root.querySelector("[data-do=cycle]"), by_cycle);
    go(Math.round((t - (by_cycle ? cycles[0][1] : people[0].times[0])) / s));
  }
  function flip(name) { var one = box(name); if (one) { one.checked = !one.checked; draw(); } }

  var VIEWS = { right: [0, 0.05], front: [Math.PI / 2, 0.05], top: [0, Math.PI / 2], free: [0.55, 0.22] };
  root.querySelectorAll("[data-view]").forEach(function (button) {
    button.addEventListener("click", function () { eye.yaw = VIEWS[button.dataset.view][0]; eye.pitch = VIEWS[button.dataset.view][1]; draw(); });
  });
  root.querySelectorAll("[data-show]").forEach(function (one) { one.addEventListener("change", draw); });
  var DOES = { play: toggle, back: function () { go(row - 1); }, on: function () { go(row + 1); }, abreast: lay, cycle: change_clock, nearer: function () { near(1 / 1.2); }, farther: function () { near(1.2); } };
  root.querySelectorAll("[data-do]").forEach(function (button) { button.addEventListener("click", DOES[button.dataset.do]); });
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
  var TURNS = { ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };
  var KEYS = { " ": toggle, ",": DOES.back, ".": DOES.on, "+": function () { near(1 / 1.1); }, "-": function () { near(1.1); }, o: lay, t: change_clock, g: function () { flip("ghost"); } };
  canvas.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey) { return; }
    if (TURNS[event.key]) { turn(TURNS[event.key][0], TURNS[event.key][1]); } else if (KEYS[event.key]) { KEYS[event.key](); } else { return; }
    event.preventDefault();
  });
  window.addEventListener("resize", draw);
  // a view in a folded part has no width before it is opened
  document.addEventListener("toggle", draw, true);
  // a table next to the view selects a marker and a time
  document.querySelectorAll("[data-time]").forEach(function (button) {
    button.addEventListener("click", function () {
      picked = button.dataset.marker;
      document.dispatchEvent(new CustomEvent("biodyn-go", { detail: { time: Number(button.dataset.time) } }));
      draw(); root.scrollIntoView();
    });
  });
  // curves request the time of the view, or set it to a time of the first person
  document.addEventListener("biodyn-ask", draw);
  root.addEventListener("focusout", function () { window.setTimeout(draw, 0); });
  document.addEventListener("biodyn-go", function (event) {
    var t = event.detail.time, to = several ? Math.round((t - time_of(people[0], 0)) / row_s()) + row : nearest(people[0], t);
    if (by_cycle) { to = ((to % STEPS) + STEPS) % STEPS; }
    if (to !== row) { go(to); }
  });
  // the first frame with a pose
  var first = people[0], pose = 0;
  people.forEach(function (p) {
    var k;
    for (k = 0; k < p.times.length; k += 1) { p.row = k; if (root_of(p)) { break; } }
    if (p === first) { pose = k; }
    p.start = root_of(p) || [0, 0, 0];
  });
  middle = Math.max.apply(null, people.map(function (p) { return p.data.top; })) / 2;
  people.forEach(function (p) { p.start[1] = middle; });
  eye.far = 2.1 * Math.max(0.8, 2 * middle);
  go(by_cycle ? 0 : Math.min(rows() - 1, Math.max(several ? 0 : pose, Math.floor(rows() / 2))));
});
