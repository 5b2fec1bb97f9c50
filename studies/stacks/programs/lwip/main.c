/* lwIP as the stack of a host with `stack = "program"`: it sends and reads what LASTHOP_FLOWS says.
 *
 * A line there is "send|read PORT ADDRESS PORT BYTES START_S": what to do, our own port, the other's end, how much, and when
 * to connect. LASTHOP_TUN_FD is read and written packet by packet. docs/recipes/other-stacks.md says more.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <lwip/api.h>
#include <lwip/netif.h>
#include <lwip/tcpip.h>

enum { LARGEST_PACKET = 65535, CHUNK = 16384 };

struct flow {
    int sends;
    u16_t port, other_port;
    ip_addr_t other;
    uint64_t bytes;
    double start_s;
};

static int device;

static void fail(const char *what)
{
    fprintf(stderr, "lwip: cannot %s\n", what);
    exit(1);
}

/* A connection that breaks is an outcome: the run continues, and its packets show it. */
static int is_whole(err_t error, const char *what)
{
    if (error != ERR_OK) printf("the connection broke: %s: %s\n", what, lwip_strerr(error));
    return error == ERR_OK;
}

/* Returns byte `position` of every stream: by it the receiver knows that nothing was lost or moved. */
static u8_t pattern(uint64_t position)
{
    return (u8_t)((position * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
}

static err_t send_packet(struct netif *netif, struct pbuf *packet, const ip4_addr_t *to)
{
    static char whole[LARGEST_PACKET];
    LWIP_UNUSED_ARG(netif);
    LWIP_UNUSED_ARG(to);
    u16_t len = pbuf_copy_partial(packet, whole, packet->tot_len, 0);
    return write(device, whole, len) == len ? ERR_OK : ERR_IF;
}

static err_t set_up(struct netif *netif)
{
    memcpy(netif->name, "lh", 2);
    netif->mtu = (u16_t)atoi(getenv("LASTHOP_MTU"));
    netif->output = send_packet;
    netif->flags |= NETIF_FLAG_LINK_UP;
    return ERR_OK;
}

/* Gives lwIP each packet that comes across the links. */
static void read_packets(struct netif *netif)
{
    static char whole[LARGEST_PACKET];
    for (;;) {
        ssize_t len = read(device, whole, sizeof whole);
        if (len <= 0) fail("read packets");
        struct pbuf *packet = pbuf_alloc(PBUF_RAW, (u16_t)len, PBUF_RAM);
        if (packet == NULL) continue;
        pbuf_take(packet, whole, (u16_t)len);
        if (netif->input(packet, netif) != ERR_OK) pbuf_free(packet);
    }
}

static err_t send_bytes(struct netconn *connection, uint64_t bytes)
{
    static u8_t chunk[CHUNK];
    for (uint64_t sent = 0; sent < bytes;) {
        size_t len = bytes - sent < CHUNK ? (size_t)(bytes - sent) : CHUNK;
        for (size_t at = 0; at < len; at++) chunk[at] = pattern(sent + at);
        err_t error = netconn_write(connection, chunk, len, NETCONN_COPY);
        if (error != ERR_OK) return error;
        sent += len;
    }
    return ERR_OK;
}

static void read_bytes(struct netconn *connection)
{
    uint64_t position = 0;
    struct netbuf *buffer;
    while (netconn_recv(connection, &buffer) == ERR_OK) {
        do {
            u8_t *data;
            u16_t len;
            netbuf_data(buffer, (void **)&data, &len);
            for (u16_t at = 0; at < len; at++)
                if (data[at] != pattern(position++)) fail("read: a byte is not the one that was sent");
        } while (netbuf_next(buffer) >= 0);
        netbuf_delete(buffer);
    }
    printf("read %" PRIu64 " bytes, all as they were sent\n", position);
}

static void send_flow(const struct flow *flow)
{
    struct timespec pause = {(time_t)flow->start_s, (long)((flow->start_s - (time_t)flow->start_s) * 1e9)};
    nanosleep(&pause, NULL);
    struct netconn *connection = netconn_new(NETCONN_TCP);
    if (netconn_bind(connection, IP_ADDR_ANY, flow->port) != ERR_OK) fail("bind");
    if (!is_whole(netconn_connect(connection, &flow->other, flow->other_port), "connect")) return;
    if (!is_whole(send_bytes(connection, flow->bytes), "write")) return;
    is_whole(netconn_close(connection), "close");
}

static void read_flow(const struct flow *flow)
{
    struct netconn *listener = netconn_new(NETCONN_TCP), *connection;
    if (netconn_bind(listener, IP_ADDR_ANY, flow->port) != ERR_OK) fail("bind");
    if (netconn_listen(listener) != ERR_OK) fail("listen");
    if (netconn_accept(listener, &connection) != ERR_OK) fail("accept");
    read_bytes(connection);
    is_whole(netconn_close(connection), "close");
}

static void run_flow(void *given)
{
    const struct flow *flow = given;
    if (flow->sends) send_flow(flow);
    else read_flow(flow);
    printf("done\n");
    fflush(stdout);
}

static void start_flows(void)
{
    char verb[8], other[64];
    int used;
    for (const char *line = getenv("LASTHOP_FLOWS");; line += used) {
        struct flow *flow = calloc(1, sizeof *flow);
        int fields = sscanf(line, "%7s %" SCNu16 " %63s %" SCNu16 " %" SCNu64 " %lf\n%n", verb, &flow->port, other,
                            &flow->other_port, &flow->bytes, &flow->start_s, &used);
        if (fields != 6) return;
        flow->sends = strcmp(verb, "send") == 0;
        if (!ipaddr_aton(other, &flow->other)) fail("understand an address");
        sys_thread_new("flow", run_flow, flow, 0, 0);
    }
}

int main(void)
{
    static struct netif netif;
    ip4_addr_t address, mask;
    device = atoi(getenv("LASTHOP_TUN_FD"));
    ip4addr_aton(getenv("LASTHOP_ADDRESS"), &address);
    IP4_ADDR(&mask, 255, 255, 255, 255);
    tcpip_init(NULL, NULL);
    LOCK_TCPIP_CORE();
    netif_add(&netif, &address, &mask, &address, NULL, set_up, tcpip_input);
    netif_set_default(&netif);
    netif_set_up(&netif);
    UNLOCK_TCPIP_CORE();
    start_flows();
    read_packets(&netif);
}
