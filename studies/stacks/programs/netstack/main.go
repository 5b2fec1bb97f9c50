// Netstack is gVisor's TCP/IP stack as the stack of a host with `stack = "program"`: it sends and reads what LASTHOP_FLOWS
// says.
//
// A line there is "send|read PORT ADDRESS PORT BYTES START_S": what to do, our own port, the other's end, how much, and when
// to connect. LASTHOP_TUN_FD is read and written packet by packet. docs/recipes/other-stacks.md says more.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

const (
	nic   = 1
	chunk = 16 << 10
)

// flow is a line of LASTHOP_FLOWS.
type flow struct {
	sends  bool
	own    tcpip.FullAddress
	other  tcpip.FullAddress
	bytes  uint64
	starts time.Duration
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("netstack: ")
	own := address(os.Getenv("LASTHOP_ADDRESS"))
	network := newStack(number("LASTHOP_TUN_FD"), number("LASTHOP_MTU"), own)
	var flows sync.WaitGroup
	for _, line := range strings.Split(strings.TrimSpace(os.Getenv("LASTHOP_FLOWS")), "\n") {
		one := readFlow(line, own)
		flows.Add(1)
		go func() {
			defer flows.Done()
			// A connection that breaks is an outcome: the run continues, and its packets show it.
			if err := one.run(network); err != nil {
				fmt.Println("the connection broke:", err)
			}
			fmt.Println("done")
		}()
	}
	flows.Wait()
	// What is under way still has to be answered; the run ends this program.
	select {}
}

// newStack makes a stack with one interface, which is the descriptor.
func newStack(descriptor, mtu int, own tcpip.Address) *stack.Stack {
	network := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, icmp.NewProtocol4},
	})
	link, err := fdbased.New(&fdbased.Options{FDs: []int{descriptor}, MTU: uint32(mtu)})
	if err != nil {
		log.Fatal(err)
	}
	must(network.CreateNIC(nic, link))
	must(network.AddProtocolAddress(nic, tcpip.ProtocolAddress{
		Protocol: ipv4.ProtocolNumber, AddressWithPrefix: own.WithPrefix(),
	}, stack.AddressProperties{}))
	network.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nic}})
	return network
}

func (f flow) run(network *stack.Stack) error {
	if f.sends {
		time.Sleep(f.starts)
		return f.send(network)
	}
	return f.read(network)
}

func (f flow) send(network *stack.Stack) error {
	connection, err := gonet.DialTCPWithBind(context.Background(), network, f.own, f.other, ipv4.ProtocolNumber)
	if err != nil {
		return err
	}
	buffer := make([]byte, chunk)
	for sent := uint64(0); sent < f.bytes; {
		part := buffer[:min(chunk, f.bytes-sent)]
		for at := range part {
			part[at] = pattern(sent + uint64(at))
		}
		if _, err := connection.Write(part); err != nil {
			return err
		}
		sent += uint64(len(part))
	}
	return connection.Close()
}

func (f flow) read(network *stack.Stack) error {
	listener, err := gonet.ListenTCP(network, f.own, ipv4.ProtocolNumber)
	if err != nil {
		return err
	}
	connection, err := listener.Accept()
	if err != nil {
		return err
	}
	position, err := compare(connection)
	fmt.Printf("read %d bytes, all as they were sent\n", position)
	if err != nil {
		return err
	}
	return connection.Close()
}

// compare reads a stream to its end.
func compare(connection net.Conn) (uint64, error) {
	buffer, position := make([]byte, chunk), uint64(0)
	for {
		count, err := connection.Read(buffer)
		for _, got := range buffer[:count] {
			if got != pattern(position) {
				return position, fmt.Errorf("byte %d is not the one that was sent", position)
			}
			position++
		}
		if err == io.EOF {
			return position, nil
		}
		if err != nil {
			return position, err
		}
	}
}

// pattern is byte `position` of every stream: by it the receiver knows that nothing was lost or moved.
func pattern(position uint64) byte {
	return byte((position * 0x9e3779b97f4a7c15) >> 56)
}

func readFlow(line string, own tcpip.Address) flow {
	fields := strings.Fields(line)
	if len(fields) != 6 {
		log.Fatalf("LASTHOP_FLOWS has the line %q", line)
	}
	bytes, err := strconv.ParseUint(fields[4], 10, 64)
	check(err)
	starts, err := time.ParseDuration(fields[5] + "s")
	check(err)
	return flow{
		sends:  fields[0] == "send",
		own:    tcpip.FullAddress{NIC: nic, Addr: own, Port: port(fields[1])},
		other:  tcpip.FullAddress{NIC: nic, Addr: address(fields[2]), Port: port(fields[3])},
		bytes:  bytes,
		starts: starts,
	}
}

func address(text string) tcpip.Address {
	parsed, err := netip.ParseAddr(text)
	check(err)
	return tcpip.AddrFrom4(parsed.As4())
}

func port(text string) uint16 {
	parsed, err := strconv.ParseUint(text, 10, 16)
	check(err)
	return uint16(parsed)
}

func number(variable string) int {
	parsed, err := strconv.Atoi(os.Getenv(variable))
	check(err)
	return parsed
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func must(err tcpip.Error) {
	if err != nil {
		log.Fatal(err.String())
	}
}
