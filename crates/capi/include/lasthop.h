// The network of a scenario for programs in C. Made from crates/capi/src/lib.rs by cbindgen; do not edit.
//
// Times are nanoseconds since the start of the run, and never decrease from call to call. A function that can fail says
// so by its value; lasthop_error() then has the reason. Nothing is shared between threads: a network belongs to the
// thread that uses it.

#ifndef LASTHOP_H
#define LASTHOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A network between hosts of the caller.
typedef struct lasthop_network lasthop_network;

// An IPv4 address and a port.
typedef struct {
  // The four bytes of the address, in the order in which they are written.
  uint8_t ip[4];
  // The port, in the byte order of the machine.
  uint16_t port;
} lasthop_address;

// A UDP datagram.
typedef struct {
  // Its sender.
  lasthop_address from;
  // Its receiver.
  lasthop_address to;
  // ECN field: 0 (not ECN-capable), 1 (ECT(1)), 2 (ECT(0)) or 3 (CE).
  uint8_t ecn;
  // Its payload.
  const uint8_t *payload;
  // Number of bytes of the payload, at most 65507.
  size_t payload_len;
} lasthop_datagram;

// A packet that has reached a host of the caller. Its pointers are valid until the next call with the network.
typedef struct {
  // The host, as lasthop_host() numbers it.
  size_t host;
  // Time at which the packet was sent.
  uint64_t sent_ns;
  // Time at which it arrived.
  uint64_t at_ns;
  // The IPv4 packet.
  const uint8_t *packet;
  // Its number of bytes.
  size_t packet_len;
  // Whether the packet carries a whole UDP datagram.
  bool is_datagram;
  // That datagram; zeros without one.
  lasthop_datagram datagram;
} lasthop_arrival;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the reason of the last call in this thread that failed. Valid until the next call.
const char *lasthop_error(void);

// Makes the network of a scenario file. The hosts that no flow of it names are the caller's; the other flows are cross
// traffic. `overrides` are texts "path=value"; NULL, or its last item is NULL. A `seed` of 0 is that of the file.
//
// Returns NULL if the file has a mistake. lasthop_free() or lasthop_finish() frees the network.
//
// # Safety
// `path` and the overrides are texts that end with a zero.
lasthop_network *lasthop_open(const char *path,
                              const char *const *overrides,
                              uint64_t seed);

// Makes the network of the text of a scenario, as lasthop_open() does of a file.
//
// # Safety
// As lasthop_open().
lasthop_network *lasthop_parse(const char *text, const char *const *overrides, uint64_t seed);

// Frees a network without results.
//
// # Safety
// `network` is NULL, or from lasthop_open() or lasthop_parse() and not yet freed.
void lasthop_free(lasthop_network *network);

// Returns the number of hosts of the caller.
size_t lasthop_hosts(const lasthop_network *network);

// Finds a host of the caller by its name, and writes its number and its address. Returns whether there is one.
//
// # Safety
// `name` ends with a zero; `host` and `ip` (four bytes) can be written.
bool lasthop_host(const lasthop_network *network,
                  const char *name,
                  size_t *host,
                  uint8_t *ip);

// A host sends an IPv4 packet. Returns whether it could; a packet to an address that no host has is dropped.
//
// # Safety
// `packet` has `packet_len` bytes.
bool lasthop_send(lasthop_network *network,
                  uint64_t at_ns,
                  size_t host,
                  const uint8_t *packet,
                  size_t packet_len);

// The host with the address `datagram->from` sends a UDP datagram. Returns whether it could.
//
// # Safety
// The payload has `payload_len` bytes.
bool lasthop_send_datagram(lasthop_network *network,
                           uint64_t at_ns,
                           const lasthop_datagram *datagram);

// Writes the time at which something next happens in the network. Returns whether anything will.
bool lasthop_next_event(const lasthop_network *network, uint64_t *at_ns);

// Lets happen what is due up to and with `at_ns`. Returns false after an error.
bool lasthop_run_until(lasthop_network *network, uint64_t at_ns);

// Writes the next packet that has arrived. Returns whether there is one.
bool lasthop_poll(lasthop_network *network, lasthop_arrival *arrival);

// Ends the run at the time of the last call, frees the network, and writes the result into `folder` for `lasthop
// report`, `plot` and `explain`, unless it is NULL. Returns the summary as JSON, to be freed by lasthop_free_text(),
// or NULL if the result cannot be written.
//
// # Safety
// As lasthop_free(); `folder` is NULL, or ends with a zero.
char *lasthop_finish(lasthop_network *network,
                     const char *folder);

// Frees a text of lasthop_finish().
//
// # Safety
// `text` is NULL, or from lasthop_finish() and not yet freed.
void lasthop_free_text(char *text);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* LASTHOP_H */
