# A player in a room, without a window: godot3-server -s main.gd ws://127.0.0.1:7400/play lobby godot 10
# joins the room, says `godot 1` to `godot 10`, prints what it hears, and ends when it hears `bye`.
extends SceneTree
var player; var room; var name; var left; var said = 0; var next_at = 0

func _init():
	var args = OS.get_cmdline_args()
	var own = args.size() - 4
	player = preload("rejoin.gd").new(args[own])
	room = args[own + 1]
	name = args[own + 2]
	left = int(args[own + 3])
	for each in ["connected", "heard", "stopped"]: player.connect(each, self, each)
func connected(rung, reason):
	print("connected ", rung, " ", reason)
	if rung == "RUNG_NEW": player.join("relay", room)
func heard(text):
	print("heard ", text)
	if text == "bye": quit()
func stopped(code):
	print("stopped ", code)
	quit(1)
func _idle(_delta):
	player.poll()
	if left > 0 and OS.get_ticks_msec() >= next_at and player.say("%s %d" % [name, said + 1]):
		said += 1
		left -= 1
		next_at = OS.get_ticks_msec() + 20
