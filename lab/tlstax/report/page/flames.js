// Stands behind inferno's own script in the frame of a flame graph: unpacks the picture, and gives its search
// a field. A frame that may neither ask (prompt) nor change its address has no other way to be told.
history.replaceState = function () {};

const field = document.getElementById("wanted");
const told = document.getElementById("told");

function tell(text) {
    told.textContent = text;
}

function reset() {
    if (searching) {
        search_prompt_of_inferno();
    }
}

function look() {
    reset();
    tell("");
    if (field.value === "") {
        return;
    }
    try {
        search(new RegExp(field.value, "i"));
    } catch (error) {
        tell("not a regular expression");
        return;
    }
    tell(searching ? matchedtxt.textContent : "nothing matched");
}

// Once something is marked, inferno's own prompt only takes the marks away.
const search_prompt_of_inferno = search_prompt;
search_prompt = function () {
    field.focus();
    field.select();
};

function show(text) {
    document.getElementById("picture").innerHTML = text;
    init();
    field.addEventListener("input", look);
    field.disabled = false;
}

// A frame that is not on the screen yet has no width, and inferno measures its letters first of all; and a page
// may have dozens of these.
function unpack() {
    const packed = document.getElementById("packed").textContent;
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(unpacked).text();
}

new IntersectionObserver((seen, observer) => {
    if (seen.some((entry) => entry.isIntersecting)) {
        observer.disconnect();
        unpack().then(show);
    }
}).observe(document.body);
