// Follow a run: ask the server that sent this page for a newer one, and put it in the place of this one.
(() => {
  "use strict";
  const SECONDS = 2;
  let version = null;

  const end = () => {
    const state = document.querySelector(".live-state");
    state.textContent = `The run is over, or cannot be reached any more. This is how it stood at ${new Date().toLocaleTimeString()}.`;
    state.classList.add("over");
  };

  const replace = (text) => {
    const made = new DOMParser().parseFromString(text, "text/html");
    const open = [...document.querySelectorAll("details")].map((own) => own.open);
    for (const name of ["header", "main"]) document.querySelector(name).replaceWith(made.querySelector(name));
    document.title = made.title;
    document.querySelectorAll("details").forEach((own, i) => { own.open = open[i] ?? false; });
    document.dispatchEvent(new Event("report-replaced"));
  };

  const ask = async () => {
    try {
      const answer = await fetch("/", { headers: version === null ? {} : { "If-None-Match": version }, cache: "no-store" });
      if (answer.status === 200) {
        version = answer.headers.get("ETag");
        replace(await answer.text());
      }
    } catch {
      end();
      return;
    }
    setTimeout(ask, 1000 * SECONDS);
  };

  setTimeout(ask, 1000 * SECONDS);
})();
