(function () {
  "use strict";
  var data = JSON.parse(document.getElementById("explorer-data").textContent);
  var root = document.getElementById("explorer");
  if (!root || !data.variables.length) { return; }
  var select = root.querySelector("select"), plot = root.querySelector(".plot"), reading = root.querySelector(".reading");
  var W = 980, H = 330, L = 62, R = 14, T = 12, B = 40, NS = "http://www.w3.org/2000/svg";
  data.variables.forEach(function (v, i) {
    var option = document.createElement("option");
    option.value = i; option.textContent = v.label; select.appendChild(option);
  });
  var start = data.variables.findIndex(function (v) { return v.name === data.start; });
  select.value = start < 0 ? 0 : start;

  function make(name, attributes, parent, text) {
    var node = document.createElementNS(NS, name);
    Object.keys(attributes).forEach(function (key) { node.setAttribute(key, attributes[key]); });
    if (text !== undefined) { node.textContent = text; }
    parent.appendChild(node);
    return node;
  }
  // position of the 3-D view in the cycle of each side
  var marks = [], across = null, now = null;
  function mark() {
    marks.forEach(function (one) {
      var own = data.cycles.filter(function (c) { return now !== null && c[0] === one[0] && now >= c[1] && now <= c[2]; })[0];
      one[1].setAttribute("visibility", own ? "visible" : "hidden");
      if (own) { var p = across(100 * (now - own[1]) / (own[2] - own[1])); one[1].setAttribute("x1", p); one[1].setAttribute("x2", p); }
    });
  }
  document.addEventListener("biodyn-time", function (event) { now = event.detail.moving ? event.detail.time : null; mark(); });
  function shown(side) { return root.querySelector("input[value=" + side + "]").checked; }
  function niceStep(span) {
    var raw = span / 5, power = Math.pow(10, Math.floor(Math.log10(raw))), ratio = raw / power;
    return power * (ratio < 1.5 ? 1 : ratio < 3.5 ? 2 : ratio < 7.5 ? 5 : 10);
  }
  function path(values, x, y) {
    var text = "", pen = false;
    values.forEach(function (value, i) {
      if (value === null) { pen = false; return; }
      text += (pen ? "L" : "M") + x(i).toFixed(1) + " " + y(value).toFixed(1);
      pen = true;
    });
    return text;
  }
  function draw() {
    var v = data.variables[select.value], all = [0];
    var sides = Object.keys(data.sides).filter(function (s) { return v[s] && shown(s); });
    sides.forEach(function (s) { all = all.concat(v[s].mean.filter(function (value) { return value !== null; })); });
    if (v.norm && shown("norm")) { all = all.concat(v.norm.low, v.norm.high); }
    var low = Math.min.apply(null, all), high = Math.max.apply(null, all);
    if (high === low) { high += 1; }
    var step = niceStep(high - low);
    low = Math.floor(low / step) * step; high = Math.ceil(high / step) * step;
    function x(i) { return L + (W - L - R) * i / 100; }
    function y(value) { return T + (H - T - B) * (high - value) / (high - low); }
    plot.textContent = "";
    var svg = make("svg", { viewBox: "0 0 " + W + " " + H, role: "img", "aria-label": v.label }, plot);
    for (var tick = low; tick <= high + step / 2; tick += step) {
      make("line", { x1: L, x2: W - R, y1: y(tick), y2: y(tick), stroke: Math.abs(tick) < step / 1e6 ? "#aab4be" : "#e6e9ec" }, svg);
      make("text", { x: L - 8, y: y(tick) + 4, "text-anchor": "end", "font-size": 12, fill: "#5b6875" }, svg, String(+tick.toFixed(6)));
    }
    [0, 20, 40, 60, 80, 100].forEach(function (p) {
      make("text", { x: x(p), y: H - B + 18, "text-anchor": "middle", "font-size": 12, fill: "#5b6875" }, svg, p);
    });
    make("text", { x: (L + W - R) / 2, y: H - 4, "text-anchor": "middle", "font-size": 12.5, fill: "#5b6875" }, svg, "gait cycle (%)");
    make("text", { transform: "translate(14 " + (T + H - B) / 2 + ") rotate(-90)", "text-anchor": "middle", "font-size": 12.5, fill: "#5b6875" }, svg, v.axis);
    if (v.norm && shown("norm")) {
      var band = path(v.norm.high, x, y);
      for (var i = 100; i >= 0; i -= 1) { band += "L" + x(i).toFixed(1) + " " + y(v.norm.low[i]).toFixed(1); }
      make("path", { d: band + "Z", fill: data.band.color }, svg);
    }
    sides.forEach(function (s) {
      make("path", { d: path(v[s].mean, x, y), fill: "none", stroke: data.sides[s].color, "stroke-width": 2.2 }, svg);
    });
    marks = [];
    sides.forEach(function (s) {
      marks.push([s, make("line", { y1: T, y2: H - B, stroke: data.sides[s].color, "stroke-width": 1, "stroke-dasharray": "3 3", visibility: "hidden" }, svg)]);
    });
    across = x;
    mark();
    var cursor = make("line", { y1: T, y2: H - B, stroke: "#1f2933", "stroke-width": 1, visibility: "hidden" }, svg);
    reading.textContent = "Move over the chart to read values.";
    svg.addEventListener("pointerleave", function () { cursor.setAttribute("visibility", "hidden"); });
    svg.addEventListener("pointermove", function (event) {
      var box = svg.getBoundingClientRect();
      var p = Math.round(((event.clientX - box.left) / box.width * W - L) / (W - L - R) * 100);
      p = Math.max(0, Math.min(100, p));
      cursor.setAttribute("x1", x(p)); cursor.setAttribute("x2", x(p)); cursor.setAttribute("visibility", "visible");
      reading.textContent = p + " %:  " + sides.map(function (s) {
        var mean = v[s].mean[p], sd = v[s].sd[p];
        return data.sides[s].name + " " + (mean === null ? "not measured" : mean.toFixed(v.digits) + (sd === null ? "" : " ± " + sd.toFixed(v.digits)))
          + " (n = " + v[s].n + ")";
      }).join(";  ") + (v.norm && shown("norm") ? ";  " + data.band.name + " " + v.norm.low[p].toFixed(v.digits) + " to " + v.norm.high[p].toFixed(v.digits) : "");
    });
  }
  select.addEventListener("change", draw);
  root.querySelectorAll("input").forEach(function (box) { box.addEventListener("change", draw); });
  draw();
}());
