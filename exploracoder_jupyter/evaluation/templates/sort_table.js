// Lets the rows of each table with the class `sortable` be sorted by a column. Cells without `data-order` come last.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const original = [...body.rows];
  const number = (row, column) => {
    const order = row.cells[column].dataset.order;
    return order === undefined ? null : Number(order);
  };
  const compare = (column, sign) => (a, b) => {
    if (column === 0) return sign * a.cells[0].textContent.localeCompare(b.cells[0].textContent);
    const [first, second] = [number(a, column), number(b, column)];
    if (first === null || second === null) return (first === null) - (second === null);
    return sign * (first - second);
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", sign === 1 ? "ascending" : "descending");
      body.append(...[...original].sort(compare(column, sign)));
    });
  });
}
