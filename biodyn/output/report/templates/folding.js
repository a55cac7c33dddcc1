// Folded parts of a page: a link to one opens it, a button opens all, and what a printed page must have is opened for it.
(function () {
  "use strict";
  var folds = Array.prototype.slice.call(document.querySelectorAll("details.fold")), button = document.querySelector("[data-fold]");
  function reveal() {
    var at = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!at) { return; }
    var own = at.querySelector(":scope > details.fold"), above = at.closest("details");
    [own, above].forEach(function (one) { if (one) { one.open = true; } });
  }
  window.addEventListener("hashchange", reveal);
  document.querySelectorAll("nav a, a[href^='#']").forEach(function (link) { link.addEventListener("click", function () { window.setTimeout(reveal); }); });
  if (button) {
    button.addEventListener("click", function () {
      var open = folds.some(function (one) { return !one.open; });
      folds.forEach(function (one) { one.open = open; });
      button.textContent = open ? "Close all" : "Open all";
    });
  }
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details.printed, section.printed > details.fold").forEach(function (one) { one.open = true; });
  });
  // what scrolls can be reached by keyboard
  function reach() {
    document.querySelectorAll(".scroll, .tall, figure, nav > div").forEach(function (one) {
      if (one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight) { one.tabIndex = 0; } else { one.removeAttribute("tabindex"); }
    });
  }
  document.addEventListener("toggle", reach, true);
  window.addEventListener("resize", reach);
  reach();
  reveal();
}());
