// Package host runs one whole host of Signalbox inside a Go program: a data directory, a Raft log, listeners, admin
// pages, and the server behind them. The command signalbox serve is a thin program around the package.
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
// A host of a cluster gets the same Settings as signalbox serve gets from its flags: Hosts and Name, and the
// protection of the connections between hosts.
//
// Start returns when the host takes part in its cluster, WaitReady when the host serves. Stop hands over the shards
// led by the host and lets clients go; Close does not. A new Start on the directory starts a stopped host again.
//
// What an embedding program should know:
//
//   - The package never ends the process, reads no flags and no environment, and leaves the umask and the limit of open
//     files as they are. The Raft engine makes its files with the umask of the process, in a directory of mode 0750.
//   - A host must not go on if its data is damaged, or would differ from the data of other hosts: the host closes its
//     connections and its Done. Options.Halt is called before, and may end the process. If a file of the log is
//     missing, the engine ends the process itself, after Halt.
//   - The server logs with locks held, so the handler of Options.Log must not block. LogWriter makes a writer that
//     does not block.
//   - Three things are global to the process: the engine has a single logger, the logger of the host started last; the
//     engine's metrics (Settings.RaftMetrics) are in a single set; and the metrics of the process are about the whole
//     program.
//
// Where to start reading: Start in host.go lists the parts of a host, in the order of coming up. claim.go has the
// steps that must succeed before anything is written, stop.go the way down, pages.go the pages of the admin listener.
package host
