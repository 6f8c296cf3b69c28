// Package backupfile writes and reads backup files: the saved state of every shard in a cluster.
//
// Writer writes a file, and Reader reads a file section by section. Clients write files from the states that hosts
// send, and package server/backup restores machines from the states:
//
//	w, err := backupfile.NewWriter(file, header)
//	section, err := w.Section(backupfile.Section{Shard: 1, Term: 7, Index: 1234})
//	_, err = io.Copy(section, snapshot)
//	...
//	err = w.Close() // seals it
//
// A file without a seal is not a backup, however much of it is readable. Each section has its length and its SHA-256,
// so errors can name the damaged section. The states are encoded as machine snapshots: any later version that reads
// snapshots reads the states too.
//
// Files hold everything a cluster keeps, including token hashes: only the owner should be able to read a file.
package backupfile
