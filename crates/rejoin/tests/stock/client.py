"""The same pipe as client.c, with pyenet: lines of hex each way."""

import select
import sys

import enet

host = enet.Host(None, 1, 2, 0, 0)
peer = host.connect(enet.Address(sys.argv[1].encode(), int(sys.argv[2])), 2)
FLAGS = {"R": enet.PACKET_FLAG_RELIABLE, "U": 0, "S": enet.PACKET_FLAG_UNSEQUENCED}

while True:
    while select.select([sys.stdin], [], [], 0)[0]:
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        if line[0] == "Q":
            peer.disconnect(0)
            continue
        packet = enet.Packet(bytes.fromhex(line[1:]), FLAGS[line[0]])
        peer.send(0 if line[0] == "R" else 1, packet)
    event = host.service(2)
    if event.type == enet.EVENT_TYPE_CONNECT:
        print("C", flush=True)
    elif event.type == enet.EVENT_TYPE_DISCONNECT:
        print("D", event.data, flush=True)
    elif event.type == enet.EVENT_TYPE_RECEIVE:
        print("M", event.channelID, event.packet.data.hex(), flush=True)
