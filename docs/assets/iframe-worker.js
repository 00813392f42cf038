/* Search in pages that are opened as files: there a browser starts no worker, so its script runs in a hidden
   frame. The search asks for this name. */
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "Search";
      this.inside = new Promise((resolve) => {
        frame.onload = () => {
          const inside = frame.contentWindow;
          const script = inside.document.createElement("script");
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          script.onload = () => resolve(inside);
          script.src = url;
          inside.document.body.append(script);
        };
      });
      document.body.append(frame);
    }

    postMessage(data) {
      this.inside.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
  window.Worker = window.IFrameWorker;
}
