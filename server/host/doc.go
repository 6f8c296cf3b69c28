// Package host runs one complete Signalbox host inside a Go program: a data directory, a Raft log, listeners, admin
// pages, and the server behind them. The command signalbox serve is a thin wrapper around this package.
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
// A host in a cluster needs the same Settings that signalbox serve gets from its flags: Hosts and Name, and the
// security settings for connections between hosts.
//
// Start returns when the host participates in its cluster, WaitReady when the host serves. Stop hands over the shards
// the host leads and lets clients move away; Close does not. A stopped host is started again by a new Start with its
// directory.
//
// Notes for embedding programs:
//
//   - The package never ends the process, reads no flags and no environment, and leaves the umask and the file
//     descriptor limit unchanged. The Raft engine creates its files with the process's umask, in a directory with
//     mode 0750.
//   - A host must not continue if its data is damaged, or would differ from the data on other hosts: the host closes
//     its connections and its Done channel. Options.Halt is called first, and may end the process. If a log file is
//     missing, the engine ends the process itself, after Halt.
//   - The server logs with locks held, so the handler in Options.Log must not block. LogWriter is a writer that does
//     not block.
//   - Three things are global to the process: the engine has a single logger, set by the host that started last; the
//     engine's metrics (Settings.RaftMetrics) are in a single set; and the process metrics cover the whole program.
//
// Where to start reading: Start in host.go lists a host's components in start order. claim.go contains the steps that
// must succeed before anything is written, stop.go the shutdown, pages.go the pages on the admin listener.
package host
