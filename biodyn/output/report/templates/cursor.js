// One cursor for all small panels of the page, and for the 3-D view: a position in the gait cycle.
document.addEventListener("DOMContentLoaded", function () {
  "use strict";
  var store = document.getElementById("explorer-data"), page = document.querySelector(".standard-page");
  if (!store || !page) { return; }
  var data = JSON.parse(store.textContent), NS = "http://www.w3.org/2000/svg";
  // width of a panel and the edges of its plot, in its own units
  var plot = page.querySelector("[data-plot]").dataset.plot.split(" ").map(Number), LEFT = plot[1], RIGHT = plot[2];
  var known = {}, reading = page.querySelector(".reading"), cells = [], percent = null, own = null;
  data.variables.forEach(function (v) { known[v.name] = v; });
  document.querySelectorAll(".cell[data-name]").forEach(function (cell) {
    var svg = cell.querySelector("svg"), lines = {}, alone = cell.closest("[data-side]");
    (alone ? [alone.dataset.side] : Object.keys(data.sides)).forEach(function (side) {
      var line = document.createElementNS(NS, "line");
      line.setAttribute("y1", plot[3]); line.setAttribute("y2", plot[4]); line.setAttribute("class", "now");
      line.setAttribute("stroke", data.sides[side].color); line.setAttribute("stroke-width", 14);
      line.setAttribute("visibility", "hidden"); svg.appendChild(line); lines[side] = line;
    });
    cells.push({ svg: svg, lines: lines, variable: known[cell.dataset.name] });
    function here(event) {
      var box = svg.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * plot[0];
      go(100 * (x - LEFT) / (RIGHT - LEFT), known[cell.dataset.name]);
    }
    svg.addEventListener("pointermove", function (event) { if (event.pointerType === "mouse" || event.buttons) { here(event); } });
    svg.addEventListener("pointerdown", here);
  });
  function mark(places) {
    cells.forEach(function (cell) {
      Object.keys(cell.lines).forEach(function (side) {
        var line = cell.lines[side], p = places[side];
        line.setAttribute("visibility", p === undefined ? "hidden" : "visible");
        if (p !== undefined) { var x = LEFT + (RIGHT - LEFT) * p / 100; line.setAttribute("x1", x); line.setAttribute("x2", x); }
      });
    });
  }
  // time of the 3-D view as per cent of the cycle of each side
  document.addEventListener("biodyn-time", function (event) {
    var places = {}, t = event.detail.time;
    data.cycles.forEach(function (c) {
      if (t >= c[1] && t <= c[2]) { places[c[0]] = 100 * (t - c[1]) / (c[2] - c[1]); }
    });
    if (event.detail.side) { places[event.detail.side] = event.detail.percent; }
    // only while the view plays or is in use: a resting cursor looks like a gait event
    if (!own) { mark(event.detail.moving ? places : {}); }
  });
  function mean_words(v, one, side, p) {
    var mean = one[side] && one[side].mean[p];
    return mean === null || mean === undefined ? "not measured" : mean.toFixed(v.digits);
  }
  // of two persons, both names with their values
  function value(v, side, p) {
    var values = v.each ? v.each.map(function (one, k) { return data.names[k] + " " + mean_words(v, one, side, p); }).join(", ") : mean_words(v, v, side, p);
    return data.sides[side].name + " " + values;
  }
  // position of the pointer: shown in all panels, and in the 3-D view in the first cycle
  function go(to, v) {
    percent = Math.round(Math.max(0, Math.min(100, to)));
    var places = {};
    Object.keys(data.sides).forEach(function (side) { places[side] = percent; });
    v = v || own || cells[0].variable;
    own = v;
    mark(places);
    reading.textContent = v.label + " at " + percent + " % of the cycle: " + Object.keys(data.sides).map(function (side) { return value(v, side, percent); }).join(v.each ? "; " : ", ") + " (" + v.axis + ")";
    if (data.cycles.length) {
      var c = data.cycles[0];
      document.dispatchEvent(new CustomEvent("biodyn-go", { detail: { time: c[1] + (c[2] - c[1]) * percent / 100 } }));
    }
  }
  function leave() { own = null; mark({}); document.dispatchEvent(new CustomEvent("biodyn-ask")); }
  page.addEventListener("pointerleave", leave);
  page.addEventListener("blur", leave);
  page.addEventListener("keydown", function (event) {
    var step = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10 }[event.key];
    if (!step) { return; }
    event.preventDefault();
    go((percent === null ? 0 : percent) + step, own);
  });
  document.dispatchEvent(new CustomEvent("biodyn-ask"));
});
