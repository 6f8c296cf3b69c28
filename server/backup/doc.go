// Package backup makes machines of the file of a backup, and such a file of machines:
//
//	states, err := backup.Load(file)
//	err = states.Save(file)
//
// The file itself is of package protocol/backupfile. Package restore makes another cluster of states.
package backup
