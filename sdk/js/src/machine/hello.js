/**
 * The answer to a challenge: a resume where there is a token, otherwise a login. A key signs the name
 * that was dialled, not the one that the challenge tells. Signing may take a while, in which the hello
 * waits.
 */

import { Violation } from '../error.js';
import { signedText } from '../proof.js';
import { giveUp } from './ending.js';

/** @typedef {import('../machine.js').Machine} Machine */

/** The version of the protocol. */
const VERSION = 1;

/**
 * @param {Machine} machine
 * @param {number} now
 * @param {any} challenge
 */
export function challenged(machine, now, challenge) {
  const { link, ticket, config, identity } = machine;
  if (link.kind !== 'greeting') throw Violation.outOfState();
  if (challenge.versionMin > VERSION || challenge.versionMax < VERSION) {
    giveUp(machine, now, 'version');
    return;
  }
  const hello = {
    version: VERSION,
    serverName: config.serverName,
    ...(ticket === null ? { login: login(machine) } : { resume: resume(machine, ticket) }),
    capabilities: config.capabilities,
    admission: config.admission,
  };
  const { deadline } = link;
  const resumed = ticket?.session ?? null;
  if (identity.kind !== 'key') {
    machine.link = { kind: 'answering', deadline, resumed };
    machine.put({ hello });
    return;
  }
  machine.link = { kind: 'signing', deadline, hello, resumed };
  const text = textOf(machine, hello, challenge.nonce);
  machine.output({ type: 'sign', text, attempt: machine.attempts });
}

/**
 * @param {Machine} machine
 * @param {number} attempt
 * @param {Uint8Array} signature
 */
export function signed(machine, attempt, signature) {
  const { link, identity } = machine;
  if (link.kind !== 'signing' || attempt !== machine.attempts || identity.kind !== 'key') return;
  const { deadline, resumed, hello } = link;
  (hello.login ?? hello.resume).key = { publicKey: identity.publicKey, signature };
  machine.link = { kind: 'answering', deadline, resumed };
  machine.put({ hello });
}

/** @param {Machine} machine */
function login({ identity, isFresh }) {
  if (identity.kind === 'anonymous') return { anonymous: {}, fresh: isFresh };
  if (identity.kind === 'key') return { fresh: isFresh };
  return identity.secret === null ? { mint: {}, fresh: isFresh } : { secret: identity.secret, fresh: isFresh };
}

/**
 * @param {Machine} machine
 * @param {import('../machine.js').ResumeState} ticket
 */
function resume({ downstream, buffer }, { session, token, epoch }) {
  const position = downstream.position();
  return { session, token, epoch, cold: position === null, position, oldestUnacked: buffer.oldestUnacked() };
}

/**
 * @param {Machine} machine
 * @param {any} hello
 * @param {Uint8Array} nonce
 */
function textOf({ config }, { login, resume }, nonce) {
  return signedText({
    purpose: resume ? 'resume' : 'login',
    version: VERSION,
    serverName: config.serverName,
    nonce,
    session: resume?.session ?? 0n,
    epoch: resume?.epoch ?? 0n,
    fresh: login?.fresh ?? false,
    cold: resume?.cold ?? false,
    capabilities: config.capabilities,
    admission: config.admission,
    // A page is given nothing that binds a signature to its channel.
    channelBinding: new Uint8Array(0),
  });
}
