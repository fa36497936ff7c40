/**
 * Close codes: what a client does after a connection ended with each. The same table as the
 * protocol's; a test compares them.
 */

import { ENUMS, short } from './schema.js';

/**
 * `resume`: connect and resume. `log in again`: the session is gone. `wait`: the same again, later.
 * `moved`: resume at the addresses given. `fatal`: trying again cannot help. `stop`: it ended as
 * somebody wanted.
 * @typedef {'resume' | 'log in again' | 'wait' | 'moved' | 'fatal' | 'stop'} Next
 */

/** @type {Record<Next, string>} */
const CODES = {
  resume: 'unspecified handshake_timeout heartbeat_lost too_slow shutting_down zone_fault store_failed',
  'log in again': 'ended session_unknown token_retired idle lifetime',
  wait: 'flooded admission_timeout full not_ready',
  moved: 'moved wrong_node',
  fatal:
    'logged_in_again malformed out_of_state too_large number_gap ack_ahead version credential ' +
    'wrong_name identity_off admission_refused banned locked kicked',
  stop: 'left taken_over superseded',
};

/** @type {Map<string, Next>} */
const NEXT = new Map();
for (const [next, codes] of Object.entries(CODES)) {
  for (const code of codes.split(' ')) NEXT.set(code, /** @type {Next} */ (next));
}

/**
 * What a client does next. A code that is not known, and a connection that ended without one: resume;
 * the server will say what is wrong with that.
 * @param {string | null} code
 * @returns {Next}
 */
export function nextAfter(code) {
  return NEXT.get(code ?? 'unspecified') ?? 'resume';
}

/**
 * The code of a WebSocket close status, if it is one of ours.
 * @param {number} status
 */
export function codeOf(status) {
  const name = status === 0 ? undefined : ENUMS.CloseCode.byNumber.get(status);
  return name === undefined ? null : short('CloseCode', name);
}

/**
 * The WebSocket close status of a code; nothing for the one that has none.
 * @param {string | null} code
 */
export function statusOf(code) {
  const status = code === null ? 0 : ENUMS.CloseCode.byName.get(`CLOSE_CODE_${code.toUpperCase()}`);
  return status || undefined;
}
