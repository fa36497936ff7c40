/**
 * The messages of proto/rejoin.proto as tables: both codecs read and write by these, and nothing else
 * in this package knows a field's number. A frame in memory has the shape of its JSON: one field for
 * what is set of a `oneof`, names in lowerCamelCase, 64-bit numbers as BigInt, bytes as Uint8Array and
 * enum values as the contract's names.
 */

/**
 * One field: its number, its type (a scalar, an enum or a message) and whether it is a list.
 * @typedef {{ number: number, name: string, type: string, repeated: boolean, oneof: string | null }} Field
 */

/**
 * One message: its fields by number and by every name that JSON may use for them.
 * @typedef {{ fields: Field[], byNumber: Map<number, Field>, byName: Map<string, Field> }} Message
 */

/** Enum values by their names, one table an enum. The value 0 is what an unknown one counts as. */
export const ENUMS = {
  Rung: values('RUNG_', { UNSPECIFIED: 0, REPLAYED: 1, RESYNCED: 2, NEW: 3 }),
  RungReason: values('RUNG_REASON_', {
    UNSPECIFIED: 0,
    COMPLETE: 1,
    COLD: 2,
    OVERRUN: 3,
    ROLLED_BACK: 4,
    ZONE_LOST: 5,
    UNKNOWN_POSITION: 6,
    FIRST: 7,
    FRESH: 8,
  }),
  NoticeCode: values('NOTICE_CODE_', { UNSPECIFIED: 0, THROTTLED: 1, FROZEN: 2, THAWED: 3 }),
  CloseCode: values('CLOSE_CODE_', {
    UNSPECIFIED: 0,
    LEFT: 4000,
    TAKEN_OVER: 4001,
    LOGGED_IN_AGAIN: 4002,
    SUPERSEDED: 4003,
    ENDED: 4004,
    MALFORMED: 4010,
    OUT_OF_STATE: 4011,
    TOO_LARGE: 4012,
    NUMBER_GAP: 4013,
    ACK_AHEAD: 4014,
    VERSION: 4015,
    FLOODED: 4016,
    CREDENTIAL: 4020,
    WRONG_NAME: 4021,
    IDENTITY_OFF: 4022,
    ADMISSION_REFUSED: 4023,
    ADMISSION_TIMEOUT: 4024,
    BANNED: 4025,
    LOCKED: 4026,
    SESSION_UNKNOWN: 4030,
    TOKEN_RETIRED: 4031,
    HANDSHAKE_TIMEOUT: 4040,
    HEARTBEAT_LOST: 4041,
    TOO_SLOW: 4042,
    IDLE: 4043,
    LIFETIME: 4044,
    FULL: 4050,
    NOT_READY: 4051,
    SHUTTING_DOWN: 4052,
    ZONE_FAULT: 4053,
    STORE_FAILED: 4054,
    MOVED: 4060,
    WRONG_NODE: 4061,
    KICKED: 4070,
  }),
  RefusalCode: values('REFUSAL_CODE_', {
    UNSPECIFIED: 0,
    ALREADY_JOINED: 1,
    UNKNOWN_ZONE: 2,
    ZONE_FULL: 3,
    JOIN_DENIED: 4,
    ALREADY_HERE: 5,
    NOT_MEMBER: 6,
    ZONE_FAULT: 7,
    ZONE_ENDING: 8,
    RING_SHARE: 9,
    BAD_PAYLOAD: 10,
    UNKNOWN_CALL: 11,
    CREATE_DENIED: 12,
    SEAT_REQUIRED: 13,
    SEAT_UNKNOWN: 14,
    SEAT_NOT_YOURS: 15,
    SEAT_OVER: 16,
    SEAT_TAKEN: 17,
    GAME_OVER: 18,
    SEATS_UNAVAILABLE: 19,
    UNKNOWN_KIND: 20,
  }),
  PartCause: values('PART_CAUSE_', {
    UNSPECIFIED: 0,
    ASKED: 1,
    TRANSFERRED: 2,
    DISCONNECTED: 3,
    HOLD_ENDED: 4,
    KICKED: 5,
    ZONE_ENDED: 6,
    ZONE_FAULT: 7,
    LEFT: 8,
    LOST: 9,
    SESSION_ENDED: 10,
    SEAT_LOST: 11,
  }),
};

/** Messages by name. A line is `number name type`, `[]` for a list, `| oneof` for a part of one. */
export const MESSAGES = {
  ClientFrame: message(`
    1 hello Hello | frame
    2 up Up | frame
    3 loose Loose | frame
    4 ack Position | frame
    5 ping Ping | frame
    6 pong Pong | frame
    15 packed bytes | frame`),
  Hello: message(`
    1 version uint32
    2 server_name string
    3 login Login | purpose
    4 resume Resume | purpose
    5 capabilities string[]
    6 admission bytes`),
  Login: message(`
    1 key KeyProof | identity
    2 secret bytes | identity
    3 mint MintSecret | identity
    4 anonymous Anonymous | identity
    5 fresh bool`),
  MintSecret: message(''),
  Anonymous: message(''),
  KeyProof: message(`
    1 public_key bytes
    2 signature bytes`),
  Resume: message(`
    1 session uint64
    2 token bytes
    3 key KeyProof
    4 epoch uint64
    5 cold bool
    6 position Position
    7 oldest_unacked uint64`),
  Position: message(`
    1 leg uint64
    2 seq uint64`),
  Up: message(`
    1 seq uint64
    2 message Message | body
    3 answer Answer | body
    4 join Join | body
    5 part Part | body
    6 bye Bye | body`),
  Message: message(`
    1 payload bytes
    2 key string
    3 cleared bool
    4 wants_reply bool`),
  Answer: message(`
    1 call uint64
    2 payload bytes`),
  Join: message(`
    1 kind string
    2 name string
    3 create bool
    4 payload bytes
    5 ticket string`),
  Part: message(''),
  Bye: message(''),
  Loose: message(`
    1 leg uint64
    2 payload bytes`),
  Ping: message('1 nonce uint64'),
  Pong: message('1 nonce uint64'),
  ServerFrame: message(`
    1 challenge Challenge | frame
    2 welcome Welcome | frame
    3 refusal Refusal | frame
    4 down Down | frame
    5 loose Loose | frame
    6 applied Applied | frame
    7 ping Ping | frame
    8 pong Pong | frame
    9 resync Resync | frame
    10 notice Notice | frame
    11 farewell Farewell | frame
    15 packed bytes | frame`),
  Challenge: message(`
    1 nonce bytes
    2 version_min uint32
    3 version_max uint32
    4 server_name string`),
  Welcome: message(`
    1 session uint64
    2 player bytes
    3 epoch uint64
    4 rung Rung
    5 reason RungReason
    6 leg uint64
    7 applied uint64
    8 lost_upstream uint64
    9 token bytes
    10 secret bytes
    11 found bool
    12 hold_ms uint32
    13 heartbeat_ms uint32
    14 zone ZoneRef
    15 message_bytes_max uint32
    16 window_frames uint32
    17 window_bytes uint32
    18 capabilities string[]
    19 resume_at string[]`),
  ZoneRef: message(`
    1 kind string
    2 name string`),
  Refusal: message(`
    1 code CloseCode
    2 text string
    3 retry_after_ms uint32
    4 addresses string[]`),
  Down: message(`
    1 seq uint64
    2 message Message | body
    3 reply Reply | body
    4 refused Refused | body
    5 call Call | body
    6 joined Joined | body
    7 parted Parted | body`),
  Reply: message(`
    1 to uint64
    2 payload bytes`),
  Refused: message(`
    1 to uint64
    2 code RefusalCode
    3 text string
    4 leg uint64`),
  Call: message(`
    1 call uint64
    2 payload bytes
    3 deadline_ms uint32`),
  Joined: message(`
    1 leg uint64
    2 zone ZoneRef
    3 to uint64
    4 payload bytes
    5 latest Latest[]
    6 hold_ms uint32`),
  Latest: message(`
    1 key string
    2 payload bytes`),
  Parted: message(`
    1 leg uint64
    2 cause PartCause
    3 text string
    4 to uint64`),
  Applied: message('1 seq uint64'),
  Resync: message(`
    1 leg uint64
    2 seq uint64
    3 reason RungReason
    4 snapshot bytes
    5 latest Latest[]
    6 zone ZoneRef
    7 applied uint64
    8 lost_upstream uint64`),
  Notice: message(`
    1 code NoticeCode
    2 text string
    3 wait_ms uint32`),
  Farewell: message(`
    1 code CloseCode
    2 text string
    3 retry_after_ms uint32
    4 addresses string[]`),
};

/**
 * The table of a message.
 * @param {string} name
 * @returns {Message}
 */
export function messageOf(name) {
  return /** @type {Record<string, Message>} */ (MESSAGES)[name];
}

/**
 * The values of an enum by name, or nothing when the type is none.
 * @param {string} name
 * @returns {{ prefix: string, byName: Map<string, number>, byNumber: Map<number, string> } | undefined}
 */
export function enumOf(name) {
  return /** @type {Record<string, any>} */ (ENUMS)[name];
}

/**
 * An enum value as the events of this package say it: without its prefix, in lower case.
 * @param {keyof typeof ENUMS} type
 * @param {string} name
 */
export function short(type, name) {
  return name.slice(ENUMS[type].prefix.length).toLowerCase();
}

/**
 * What a field holds that was not set; nothing for a message and for a part of a `oneof`.
 * @param {Field} field
 */
export function unset(field) {
  if (field.repeated) return [];
  switch (field.type) {
    case 'uint32': return 0;
    case 'uint64': return 0n;
    case 'bool': return false;
    case 'string': return '';
    case 'bytes': return new Uint8Array(0);
    default: return enumOf(field.type)?.byNumber.get(0);
  }
}

/**
 * A message in which nothing is set.
 * @param {Message} message
 */
export function empty(message) {
  /** @type {Record<string, any>} */
  const value = {};
  for (const field of message.fields) {
    const held = field.oneof === null ? unset(field) : undefined;
    if (held !== undefined) value[field.name] = held;
  }
  return value;
}

/** @param {string} lines */
function message(lines) {
  /** @type {Message} */
  const made = { fields: [], byNumber: new Map(), byName: new Map() };
  for (const line of lines.split('\n').map((each) => each.trim()).filter(Boolean)) {
    const [field, oneof = null] = line.split(' | ');
    const [number, snake, type] = field.split(' ');
    const name = snake.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
    const repeated = type.endsWith('[]');
    const row = { number: Number(number), name, type: type.replace('[]', ''), repeated, oneof };
    made.fields.push(row);
    made.byNumber.set(row.number, row);
    made.byName.set(name, row).set(snake, row);
  }
  return made;
}

/**
 * @param {string} prefix
 * @param {Record<string, number>} numbers
 */
function values(prefix, numbers) {
  const rows = Object.entries(numbers).map(([name, number]) => /** @type {[string, number]} */ ([prefix + name, number]));
  return { prefix, byName: new Map(rows), byNumber: new Map(rows.map(([name, number]) => [number, name])) };
}
