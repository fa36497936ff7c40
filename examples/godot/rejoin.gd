# The client end of Rejoin for Godot 3 over text frames. Call `poll` once a frame. What is said is kept
# until the server has it; after a cut the session goes on where it was, and nothing is lost or repeated.
extends Reference

signal connected(rung, reason) # RUNG_NEW: join a zone. RUNG_REPLAYED: go on. RUNG_RESYNCED: something was missed
signal heard(text)
signal stopped(code) # taken over, banned, ...: it does not come back by itself

const LOGIN = ["ENDED", "SESSION_UNKNOWN", "TOKEN_RETIRED", "IDLE", "LIFETIME"]
const LATER = ["HANDSHAKE_TIMEOUT", "HEARTBEAT_LOST", "TOO_SLOW", "SHUTTING_DOWN", "ZONE_FAULT", "STORE_FAILED",
		"FLOODED", "ADMISSION_TIMEOUT", "FULL", "NOT_READY"]
var url; var ws; var is_live = false; var is_over = false; var tries = 0; var dial_at = 0; var heard_at = 0
var ticket = {} # what leads back to the session
var at = ["0", 0] # the leg, and the last number heard in it
var applied = 0; var sends = [] # the server has so many; these come after them

func _init(address): # ws://host:port/play
	url = address
	randomize()
func join(kind, name): return up({"join": {"kind": kind, "name": name, "create": true}})
func say(text): return up({"message": {"payload": Marshalls.utf8_to_base64(text)}})
func up(body): # false: there is no session yet, or too much waits already
	if ticket.empty() or sends.size() >= 128: return false
	sends.append(body)
	body["seq"] = str(applied + sends.size())
	if is_live: put({"up": body})
	return true
func put(frame): ws.get_peer(1).put_packet(JSON.print(frame).to_utf8())
func ack(): put({"ack": {"leg": at[0], "seq": str(at[1])}})
func poll():
	var link = ws # held while it is polled: it may be lost meanwhile
	if link: link.poll()
	if ws and OS.get_ticks_msec() - heard_at > 12500: lost() # two and a half heartbeats of silence
	if not ws and not is_over and OS.get_ticks_msec() >= dial_at: dial()
func dial():
	ws = WebSocketClient.new()
	heard_at = OS.get_ticks_msec()
	for ending in ["connection_closed", "connection_error"]: ws.connect(ending, self, "lost")
	ws.connect("data_received", self, "received")
	if ws.connect_to_url(url, ["rejoin.v1.json"]) != OK: lost()
func lost(_clean = false): # waits a random while: a crowd does not come back in one moment
	ws = null
	is_live = false
	tries = min(tries + 1, 4)
	dial_at = max(dial_at, OS.get_ticks_msec() + randi() % int(125 * pow(2, tries)))
func received():
	var frame = JSON.parse(ws.get_peer(1).get_packet().get_string_from_utf8()).result
	heard_at = OS.get_ticks_msec()
	for kind in frame:
		if has_method("on_" + kind): call("on_" + kind, frame[kind])
func on_challenge(_body):
	ws.get_peer(1).set_write_mode(WebSocketPeer.WRITE_MODE_TEXT)
	var hello = {"version": 1, "serverName": url.split("/")[2].split(":")[0]}
	if ticket.empty(): hello["login"] = {"anonymous": {}}
	else: hello["resume"] = {"session": ticket.session, "token": ticket.token, "epoch": ticket.epoch,
			"position": {"leg": at[0], "seq": str(at[1])}, "oldestUnacked": str(applied + 1)}
	put({"hello": hello})
func on_welcome(body):
	ticket = body
	tries = 0
	if body.rung == "RUNG_NEW": at = [body.leg, 0]
	if body.rung != "RUNG_RESYNCED": ack() # else a resync says where it goes on
	on_applied({"seq": body.get("applied", 0)})
	emit_signal("connected", body.rung, body.reason)
	for send in sends: put({"up": send})
	is_live = true
func on_resync(body):
	at = [body.leg, int(body.get("seq", 0))]
	ack()
func on_down(body):
	for opening in ["joined", "refused"]: # a frame that opens a leg names it
		if body.has(opening) and int(body[opening].get("leg", 0)) > int(at[0]): at = [body[opening].leg, 0]
	if int(body.seq) > at[1]: # else it was heard on an earlier connection
		at[1] = int(body.seq)
		if body.has("message"): emit_signal("heard", Marshalls.base64_to_utf8(body.message.get("payload", "")))
	ack()
func on_applied(body):
	while sends and int(sends[0].seq) <= int(body.seq): applied = int(sends.pop_front().seq)
func on_ping(body): put({"pong": {"nonce": body.nonce}})
func on_refusal(body): on_farewell(body)
func on_farewell(body):
	var code = body.code.trim_prefix("CLOSE_CODE_")
	dial_at = OS.get_ticks_msec() + int(body.get("retryAfterMs", 0))
	is_over = not code in LOGIN + LATER
	if is_over: emit_signal("stopped", code)
	if code in LOGIN: # the session is gone, and what waited for it
		for kept in [ticket, sends]: kept.clear()
		applied = 0
