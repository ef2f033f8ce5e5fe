(function () {
  "use strict";
  var table = document.getElementById("problems"), body = table.tBodies[0], filter = document.getElementById("filter");
  var shown = document.getElementById("shown"), rows = Array.prototype.slice.call(body.rows);
  function value(row, column) {
    var cell = row.cells[column], key = cell.getAttribute("data-key");
    return key === null ? cell.textContent.trim().toLowerCase() : key === "" ? null : parseFloat(key);
  }
  function compare(a, b) {
    if (typeof a === "number" || typeof b === "number") return a - b;
    return a.localeCompare(b, undefined, {numeric: true});
  }
  Array.prototype.forEach.call(table.tHead.rows[0].cells, function (head, column) {
    head.querySelector("button").addEventListener("click", function () {
      var up = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") !== "ascending" : !head.classList.contains("number");
      Array.prototype.forEach.call(table.tHead.rows[0].cells, function (other) { other.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      rows.sort(function (x, y) {
        var a = value(x, column), b = value(y, column);
        if (a === null || b === null) return (a === null) - (b === null); /* what is not known comes last */
        return up ? compare(a, b) : compare(b, a);
      });
      rows.forEach(function (row) { body.appendChild(row); });
    });
  });
  filter.addEventListener("input", function () {
    var word = filter.value.toLowerCase(), count = 0;
    rows.forEach(function (row) {
      row.hidden = row.textContent.toLowerCase().indexOf(word) < 0;
      count += !row.hidden;
    });
    shown.textContent = word ? count + " of " + rows.length : "";
  });
})();
