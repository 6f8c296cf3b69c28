// Package backup converts backup files to state machines and back:
//
//	states, err := backup.Load(file)
//	err = states.Save(file)
//
// Package protocol/backupfile defines the file format. Package restore creates a new cluster from the states.
package backup
