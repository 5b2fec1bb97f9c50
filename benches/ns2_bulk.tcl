# Bulk transfers in ns-2, to compare its speed with ours on the scenario ns2_bulk.toml next to this file.
#
#   ns ns2_bulk.tcl FLOWS SECONDS
#
# FLOWS senders (Sack1), each on an access link of its own, share a bottleneck; nothing is traced, and packets carry only
# the headers that TCP needs. Prints the segments that were acknowledged in SECONDS of simulated time.

if {$argc != 2} {
    puts stderr "usage: ns ns2_bulk.tcl FLOWS SECONDS"
    exit 2
}
lassign $argv flows seconds

remove-all-packet-headers
add-packet-header Common Flags IP TCP

Agent/TCP set packetSize_ 1000
Agent/TCP set window_ 100000

set ns [new Simulator]
set router [$ns node]
set sink_host [$ns node]
$ns duplex-link $router $sink_host 100Mb 20ms DropTail
$ns queue-limit $router $sink_host 601
$ns queue-limit $sink_host $router 1000000

set senders {}
for {set flow 0} {$flow < $flows} {incr flow} {
    set host [$ns node]
    $ns duplex-link $host $router 1Gb 5ms DropTail
    $ns queue-limit $host $router 1000000
    $ns queue-limit $router $host 1000000

    set sender [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1]
    $ns attach-agent $host $sender
    $ns attach-agent $sink_host $sink
    $ns connect $sender $sink

    set file [new Application/FTP]
    $file attach-agent $sender
    $ns at [expr {0.02 * $flow}] "$file start"
    lappend senders $sender
}

$ns at $seconds {
    set acknowledged 0
    foreach sender $senders { incr acknowledged [expr {[$sender set ack_] + 1}] }
    puts $acknowledged
    exit 0
}
$ns run
