// What went wrong, by the contract's kinds, in the driver's own words.

/**
 * The server's errors to a login: 1044 no right to the schema, 1045 wrong password, 1130 host not allowed,
 * 1251 and 2059 a way of logging in that the client has not, 1698 no password, 1820 and 1862 expired
 * password, 3118 account locked (MySQL reference manual, "Server Error Message Reference").
 */
const LOGIN_REFUSED = [1044, 1045, 1130, 1251, 1698, 1820, 1862, 2059, 3118];

/** Kinds by the drivers' and the runtime's own words for an error (`code`), tried in this order. */
const WORDS = [
  ["resolve", /^(ENOTFOUND|EAI_AGAIN)$/],
  ["limits", /^(EMFILE|ENFILE|EADDRNOTAVAIL|ENOMEM)$/],
  ["connect", /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ENOENT|EACCES)$/],
  ["timeout", /^(ETIMEDOUT|ER_CONNECTION_TIMEOUT|ER_SOCKET_TIMEOUT)$/],
  ["no_tls", /^(HANDSHAKE_NO_SSL_SUPPORT|ER_SERVER_SSL_DISABLED)$/],
  ["certificate", /^(ERR_TLS_CERT_|UNABLE_TO_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|ER_SELF_SIGNED)/],
  ["certificate", /^ER_TLS_IDENTITY_ERROR$/],
  ["tls_handshake", /^(ERR_SSL_|ERR_TLS_|EPROTO$)/],
  ["access_denied", /^(AUTH_SWITCH_|MYSQL_CLEAR_|ER_CANNOT_RETRIEVE_RSA|ER_AUTHENTICATION_)/],
  ["access_denied", /^ER_NOT_SUPPORTED_AUTH/],
  ["server_closed", /^(PROTOCOL_CONNECTION_LOST|ECONNRESET|EPIPE|ER_SOCKET_UNEXPECTED_CLOSE)$/],
  ["server_closed", /^CONNECTION_(CLOSED|DESTROYED|ENDED)$/],
  ["server_closed", /^ER_(CONNECTION_ALREADY_CLOSED|CMD_CONNECTION_CLOSED|CMD_NOT_EXECUTED_DESTROYED)$/],
];

/** What cannot be done, in one sentence of this program's own. */
export class Refusal extends Error {}

/** Whether the connection is as good as before: the server refused a statement, and nothing more. */
export function keepsConnection(error) {
  return error.fatal !== true && classify(error, Boolean(error.opening))[0] === "server_error";
}

/** The answer that tells an error. One that was met in the driver's connect is marked as `opening`. */
export function failed(error) {
  if (error instanceof Refusal) {
    return { failure: { kind: "bad_job", words: error.message, code: null, by: "adapter" } };
  }
  const [kind, code] = classify(error, Boolean(error.opening));
  const words = String(error.sqlMessage || error.message || error.code);
  return { failure: { kind, words, code, by: "driver" } };
}

/** By a SQLSTATE's class, or itself (PostgreSQL's documentation, "Error Codes"). */
function kindOfState(state) {
  if (state.startsWith("28")) return "access_denied";
  if (state === "53300") return "limits";
  return /^57P0[123]$/.test(state) ? "server_closed" : "server_error";
}

function classify(error, opening) {
  if (error instanceof Refusal) return ["bad_job", null];
  for (let one = error; one instanceof Error; one = one.cause) {
    if (one.severity && /^[0-9A-Z]{5}$/.test(one.code)) return [kindOfState(one.code), one.code];
    const known = WORDS.find(([, words]) => words.test(one.code ?? ""));
    if (known) return [known[0], systemNumber(one)];
    if (one.sqlState && one.errno > 0 && one.errno < 45000) {
      return [opening && LOGIN_REFUSED.includes(one.errno) ? "access_denied" : "server_error", one.errno];
    }
  }
  // mysql2 has no code for a connection that was lost while nothing was asked.
  if (/connection is in closed state$/.test(error.message)) return ["server_closed", null];
  if (/server does not support SSL/.test(error.message)) return ["no_tls", null];
  if (/Connection terminated|not queryable/.test(error.message)) return ["server_closed", null];
  // mysql2 puts this word in place of the runtime's.
  if (error.code === "HANDSHAKE_SSL_ERROR") {
    return [/certificate|altnames/i.test(error.message) ? "certificate" : "tls_handshake", null];
  }
  if (opening && (error instanceof TypeError || error instanceof RangeError)) return ["bad_job", null];
  if (opening && error.code === "ER_UNEXPECTED_PACKET") return ["not_mysql", null];
  return ["internal", null];
}

/** errno as the kernel has it: the runtime tells it negative. */
function systemNumber(error) {
  return typeof error.errno === "number" && error.errno < 0 && error.errno > -3000 ? -error.errno : null;
}
