// Package host runs one whole host of Signalbox inside a Go program: its data directory, its Raft log, its listeners,
// its admin pages, and the server behind them. The command signalbox serve is a thin program around it.
//
//	s := settings.Defaults()
//	s.DataDir = "/var/lib/box"
//	h, err := host.Start(host.Options{Settings: s, Log: slog.Default()})
//	if err != nil {
//		return err
//	}
//	defer h.Close()
//	if err := h.WaitReady(ctx); err != nil {
//		return err
//	}
//	c, err := client.Open(ctx, h.Addresses().Client)
//
// A host of a cluster gets the same Settings as signalbox serve gets from its flags: Hosts and Name, and what protects
// the connections between hosts.
//
// Start returns when the host takes part in its cluster, WaitReady when it serves. Stop hands over what the host leads
// and lets clients go; Close does not. A host that has stopped is started again by another Start on its directory.
//
// What an embedding program should know:
//
//   - The package never ends the process, reads no flags and no environment, and leaves the umask and the limit of open
//     files as they are. The Raft engine makes its files with the umask of the process, in a directory of mode 0750.
//   - A host that must not go on (its data is damaged, or would differ from that of other hosts) closes its connections
//     and its Done. Options.Halt is called before, and may end the process. Where a file of the log is missing, the
//     engine ends the process itself, after Halt.
//   - The server logs with locks held, so the handler of Options.Log must not block. LogWriter makes a writer that
//     does not.
//   - Three things are global to the process: the engine has one logger, that of the host started last; its metrics
//     (Settings.RaftMetrics) are in one set; and the metrics of the process are those of the whole program.
//
// Where to start reading: Start in host.go lists what a host is made of, in the order in which it comes up. claim.go
// has what must succeed before anything is written, stop.go the way down, pages.go what the admin listener shows.
package host
