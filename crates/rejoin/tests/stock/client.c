/* An unmodified ENet client as a pipe: frames come as lines of hex and go the same way. "R" and a frame
   are sent reliably, "U" unreliably, "S" without an order; "Q" leaves. What comes is told as "M",
   channel and frame; "C": connected; "D" and a number: the server has disconnected. */
#include <enet/enet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char line[400000];
static unsigned char bytes[200000];

static size_t unhex(const char *text) {
    size_t count = 0;
    unsigned value;
    while (sscanf(text + 2 * count, "%2x", &value) == 1) bytes[count++] = (unsigned char) value;
    return count;
}

static void obey(ENetPeer *peer) {
    if (line[0] == 'Q') {
        enet_peer_disconnect(peer, 0);
        return;
    }
    size_t count = unhex(line + 1);
    enet_uint32 flags = line[0] == 'R' ? ENET_PACKET_FLAG_RELIABLE
                        : line[0] == 'S' ? ENET_PACKET_FLAG_UNSEQUENCED : 0;
    ENetPacket *packet = enet_packet_create(bytes, count, flags);
    if (enet_peer_send(peer, line[0] == 'R' ? 0 : 1, packet) != 0) enet_packet_destroy(packet);
}

static void told(const ENetEvent *event) {
    size_t at;
    switch (event->type) {
    case ENET_EVENT_TYPE_CONNECT:
        puts("C");
        break;
    case ENET_EVENT_TYPE_DISCONNECT:
        printf("D %u\n", event->data);
        break;
    case ENET_EVENT_TYPE_RECEIVE:
        printf("M %u ", event->channelID);
        for (at = 0; at < event->packet->dataLength; at++) printf("%02x", event->packet->data[at]);
        puts("");
        enet_packet_destroy(event->packet);
        break;
    default:
        break;
    }
    fflush(stdout);
}

int main(int count, char **arguments) {
    ENetAddress address;
    ENetEvent event;
    size_t filled = 0;
    if (count != 3 || enet_initialize() != 0) return 2;
    ENetHost *host = enet_host_create(NULL, 1, 2, 0, 0);
    enet_address_set_host(&address, arguments[1]);
    address.port = (enet_uint16) atoi(arguments[2]);
    ENetPeer *peer = enet_host_connect(host, &address, 2, 0);
    if (peer == NULL) return 3;
    for (;;) {
        struct pollfd input = {0, POLLIN, 0};
        while (poll(&input, 1, 0) > 0) {
            if (read(0, line + filled, 1) != 1) return 0;
            if (line[filled] == '\n') {
                line[filled] = 0;
                filled = 0;
                obey(peer);
            } else if (++filled == sizeof line) {
                return 4;
            }
        }
        while (enet_host_service(host, &event, 2) > 0) told(&event);
    }
}
