package raftlog

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
)

// logFile is a file of a store's write-ahead log, open for writing by one goroutine.
type logFile struct {
	diskFile
	sectors *sectorWriter
	files   *files
	store   *store
	name    string
	number  uint32 // of the file
	written int64
	asked   bool   // the file after this one was asked for
	fresh   []byte // what was written since the last sync, if that is short
	long    bool   // what was written since the last sync is too long to be read for positions
}

func newLogFile(f *files, s *store, name string, file diskFile) *logFile {
	number := fileNumber(name)
	return &logFile{
		diskFile: file, sectors: newSectorWriter(file, number, logBuffer),
		files: f, store: s, name: name, number: number,
	}
}

// Write implements vfs.File.
func (l *logFile) Write(p []byte) (n int, err error) {
	n, err = l.sectors.Write(p)
	if l.written += int64(n); !l.long {
		l.long = len(l.fresh)+n > maxJudged
		l.fresh = append(l.fresh, p[:min(n, maxJudged)]...)
	}
	if l.store.written.Add(int64(n)) >= preparedAfter && !l.asked {
		l.asked = true
		l.files.prepare(l.store, l.name)
	}
	return n, err
}

// Sync implements vfs.File. It does not make the time of the last change durable.
func (l *logFile) Sync() error {
	wait := !l.long && l.store.positions.canWait(l.fresh, l.number)
	l.fresh, l.long = l.fresh[:0], false
	if wait {
		return nil
	}
	begun := time.Now()
	if err := l.sectors.flush(); err != nil {
		return err
	}
	err := l.SyncData()
	l.files.synced(time.Since(begun))
	if err == nil {
		l.sectors.markSynced()
	}
	return err
}

// Close implements vfs.File. It writes a mark that covers the last sync too, without another sync: if that mark is lost
// the one before it counts.
func (l *logFile) Close() error {
	l.store.last.Store(l.written)
	err := l.sectors.flush()
	if err == nil {
		err = l.sectors.writeMark()
	}
	return errors.Join(err, l.diskFile.Close())
}

func isLogFile(name string) bool { return strings.HasSuffix(name, ".log") }

// fileNumber is the number of a log file or a manifest, 0 where its name is none.
func fileNumber(name string) uint32 {
	base := strings.TrimPrefix(strings.TrimSuffix(filepath.Base(name), ".log"), manifestPrefix)
	n, _ := strconv.ParseUint(base, 10, 32)
	return uint32(n)
}

// diskFile is a log file on the disk.
type diskFile = direct.File
