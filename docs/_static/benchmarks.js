/* Filters over the large table of the page on benchmarks. The numbers are those of the table itself. */
(function () {
  "use strict";
  function start() {
    var table = Array.from(document.querySelectorAll("article table")).find(function (one) {
      return one.tHead && one.tHead.textContent.indexOf("best peer at 1e-6") >= 0;
    });
    if (!table) { return; }
    var rows = Array.from(table.tBodies[0].rows).map(function (row) {
      var cells = Array.from(row.cells).map(function (cell) { return cell.textContent.trim(); });
      var best = cells[6].split(", ");
      return { row: row, data: cells[0], loss: cells[1], ratios: cells.slice(2, 5).map(parseFloat),
               peer: best.length > 1 ? best[1].split(" ")[0] : "none" };
    });
    var box = document.createElement("div");
    box.className = "filters converter";
    var summary = document.createElement("p");
    summary.id = "bench-summary";
    summary.setAttribute("role", "status");
    function choice(name, label, values, all) {
      var holder = document.createElement("div"), text = document.createElement("label");
      var field = document.createElement("select");
      field.id = "bench-" + name;
      text.htmlFor = field.id;
      text.textContent = label;
      (all ? [[all, ""]] : []).concat(values).forEach(function (value) {
        var option = document.createElement("option");
        option.textContent = value[0];
        option.value = value[1];
        field.appendChild(option);
      });
      field.addEventListener("input", show);
      holder.append(text, field);
      box.appendChild(holder);
      return field;
    }
    function distinct(name) {
      return Array.from(new Set(rows.map(function (one) { return one[name]; }))).sort()
        .map(function (value) { return [value, value]; });
    }
    var data = choice("data", "data", distinct("data"), "all");
    var loss = choice("loss", "loss", distinct("loss"), "all");
    var peer = choice("peer", "best peer at 1e-6", distinct("peer"), "any library");
    var target = choice("target", "accuracy", [["1e-3", "0"], ["1e-6", "1"], ["1e-9", "2"]], "");
    var which = choice("which", "tasks", [["where we are ahead", "ahead"], ["where we are behind", "behind"]], "all");
    target.value = "1";
    function show() {
      var level = Number(target.value), ratios = [], behind = 0, shown = 0;
      rows.forEach(function (one) {
        var ratio = one.ratios[level];
        var fits = (!data.value || one.data === data.value) && (!loss.value || one.loss === loss.value) &&
          (!peer.value || one.peer === peer.value) &&
          (!which.value || (which.value === "behind" ? ratio > 1 : ratio <= 1));
        one.row.hidden = !fits;
        if (!fits) { return; }
        shown += 1;
        if (isFinite(ratio)) { ratios.push(ratio); behind += ratio > 1; }
      });
      var total = ratios.reduce(function (sum, ratio) { return sum + Math.log(ratio); }, 0);
      summary.textContent = shown + " of " + rows.length + " tasks" + (ratios.length === 0 ? "." :
        "; at " + target.selectedOptions[0].textContent + " ours takes " +
        Math.exp(total / ratios.length).toFixed(2) + " of the best peer's time (geometric mean), and is behind on " +
        behind + " of " + ratios.length + ".");
    }
    var place = table.closest(".pst-scrollable-table-container") || table;
    place.before(box, summary);
    show();
  }
  if (document.readyState === "loading") { document.addEventListener("DOMContentLoaded", start); } else { start(); }
})();
