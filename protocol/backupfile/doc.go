// Package backupfile is the file of a backup: the state of every shard of a cluster, as it was saved.
//
// Writer writes one, and Reader reads one section by section. Clients write it, of what hosts send them, and package
// server/backup makes machines of it:
//
//	w, err := backupfile.NewWriter(file, header)
//	section, err := w.Section(backupfile.Section{Shard: 1, Term: 7, Index: 1234})
//	_, err = io.Copy(section, snapshot)
//	...
//	err = w.Close() // seals it
//
// A file that is not sealed is no backup, however much of it can be read. Each section has its length and its SHA-256,
// so that what is damaged is named. The states in it are those of the machines' own snapshots: any later version reads
// them that reads such snapshots.
//
// Files hold all that a cluster keeps, hashes of tokens among it: they are for their owner to read.
package backupfile
