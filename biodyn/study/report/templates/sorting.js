(function () {
  "use strict";
  // Tables are sorted by a click on a head: numbers by size, words by alphabet, cells without a value last.
  function value(row, column) {
    var text = row.cells[column].textContent.trim(), number = parseFloat(text.replace(/[−]/g, "-").replace(/,/g, "").replace(/^< /, ""));
    return { text: text, number: number, none: text === "" || text === "–" };
  }
  document.querySelectorAll("table.sortable").forEach(function (table) {
    table.querySelectorAll("thead th").forEach(function (head, column) {
      head.tabIndex = 0;
      function sort() {
        var down = head.getAttribute("aria-sort") === "ascending", numeric = head.classList.contains("number");
        table.querySelectorAll("th").forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        var rows = Array.prototype.map.call(table.tBodies[0].rows, function (row, i) { return { row: row, key: value(row, column), i: i }; });
        rows.sort(function (a, b) {
          if (a.key.none !== b.key.none) { return a.key.none ? 1 : -1; }
          var order = numeric && !isNaN(a.key.number) && !isNaN(b.key.number) ? a.key.number - b.key.number : a.key.text.localeCompare(b.key.text);
          return (down ? -order : order) || a.i - b.i;
        });
        rows.forEach(function (entry) { table.tBodies[0].appendChild(entry.row); });
      }
      head.addEventListener("click", sort);
      head.addEventListener("keydown", function (event) { if (event.key === "Enter") { sort(); } });
    });
  });
  function unfold() {
    var target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (var node = target; node; node = node.parentElement) { if (node.tagName === "DETAILS") { node.open = true; } }
    if (target) { target.scrollIntoView(); }
  }
  window.addEventListener("hashchange", unfold);
  if (location.hash) { unfold(); }
}());
