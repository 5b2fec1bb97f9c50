# One transfer in ns-2, for the study next to this file: a sender, a link with scripted errors, a sink.
#
#   ns transfer.tcl KEY VALUE …
#
#   agent       class of the sender below Agent/TCP: Reno, Newreno, Sack1, Fack, Vegas; Tahoe is Agent/TCP itself
#   rate        of the link to the sink, bit/s           back_rate   of the link back, bit/s
#   delay       propagation of either direction, s       queue       limit of the queue in packets
#   size        payload of a segment, bytes              segments    to transfer
#   window      the most segments in flight              set         variables of Agent/TCP and their values
#   drop        numbers of the packets that the link loses, in order of arrival, from 0, which is the SYN
#   late        numbers of those that arrive later        late_by    than they would, s
#   trace       a file for every event of the link; absent for none
#
# Prints each change of the timer's backoff (the last word of a line is its value), for not every agent counts its
# timeouts; then one line that begins with "done": elapsed time from the SYN to the ACK of all data (s),
# retransmissions, timeouts as the agent counts them.

array set case {drop {} late {} late_by 0 set {} limit 1e5}
array set case $argv

# The sending routine of Vegas leaves the headers out.
Agent/TCP set packetSize_ [expr {$case(agent) eq "Vegas" ? $case(size) + 40 : $case(size)}]
Agent/TCP set window_ $case(window)
foreach {name value} $case(set) { Agent/TCP set $name $value }

set ns [new Simulator]
set here [$ns node]
set there [$ns node]
$ns simplex-link $here $there $case(rate) $case(delay) DropTail
$ns simplex-link $there $here $case(back_rate) $case(delay) DropTail
$ns queue-limit $here $there $case(queue)
$ns queue-limit $there $here 100000
if {[info exists case(trace)]} {
    set events [open $case(trace) w]
    $ns trace-queue $here $there $events
    $ns trace-queue $there $here $events
}

# Adds an error model to the link that hits the packets of these numbers.
proc script {numbers} {
    global ns here there
    set link [$ns link $here $there]
    set errors [new ErrorModel/List]
    $errors droplist $numbers
    $errors drop-target [$link set drophead_]
    $link install-error $errors
    return $errors
}
if {$case(late) ne ""} {
    set delays [script $case(late)]
    $delays set delay_pkt_ true
    $delays set delay_ $case(late_by)
}
if {$case(drop) ne ""} { script $case(drop) }

set selective [expr {$case(agent) eq "Sack1" || $case(agent) eq "Fack"}]
set sender [new [expr {$case(agent) eq "Tahoe" ? "Agent/TCP" : "Agent/TCP/$case(agent)"}]]
set sink [new [expr {$selective ? "Agent/TCPSink/Sack1" : "Agent/TCPSink"}]]
$ns attach-agent $here $sender
$ns attach-agent $there $sink
$ns connect $sender $sink
$sender attach stdout
$sender tracevar backoff_

# The phase of the sender's clock is drawn as ns-2 begins to run (boot_time_). The same draw, made before, gives it; the
# transfer starts as much earlier, so that the ticks of every sender fall alike.
set tick [Agent/TCP set tcpTick_]
set draws [new RNG]
$draws default
$draws seed 1
set phase [$draws uniform 0 $tick]
$draws seed 1
set start [expr {100 * $tick - $phase}]
$ns at $start "$sender advanceby $case(segments)"
$sender proc done {} {
    global ns start sender
    puts "done [expr {[$ns now] - $start}] [$sender set nrexmitpack_] [$sender set nrexmit_]"
    flush stdout
    exit 0
}
$ns at $case(limit) "exit 1"
$ns run
