// Puts what the server says is new into the page, in its place; asks for nothing of its own accord, and no clock ticks here.
"use strict";
const parts = new Map([...document.querySelectorAll("[data-part]")].map((part) => [part.dataset.part, part]));
if (!("last" in document.body.dataset)) {
  const source = new EventSource(`events?after=${document.body.dataset.version}`);
  source.onmessage = (message) => {
    const news = JSON.parse(message.data);
    for (const [name, html] of Object.entries(news.parts)) {
      const part = parts.get(name);
      if (part && part.innerHTML !== html) part.innerHTML = html;
    }
    if (news.last) source.close();
  };
  source.onerror = () => {
    source.close();
    document.getElementById("lost").textContent =
      "Whoever showed this page has ended. `tlstax runs watch` shows the run again, or how it ended.";
  };
}
