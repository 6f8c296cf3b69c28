package object

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/protocol"
)

// Clock is the time of a shard at which something was read.
type Clock uint64

// Moment is one of the shard, and of the wall clock.
func (c Clock) Moment(at, wallMillis uint64) (m client.Moment) {
	if at == 0 {
		return client.Moment{}
	}
	m = client.Moment{Happened: true, Ago: conn.Millis(uint64(c) - min(uint64(c), at)), Time: conn.Millis(at)}
	if wallMillis != 0 {
		m.Wall = time.UnixMilli(int64(wallMillis))
	}
	return m
}

// Until is how long it is to a time of the shard, 0 where that has come.
func (c Clock) Until(at uint64) time.Duration { return conn.Millis(at - min(at, uint64(c))) }

// Millis is a time as hosts count it: a fraction of a millisecond is a whole one.
func Millis(d time.Duration) uint64 {
	return uint64((max(d, 0) + time.Millisecond - 1) / time.Millisecond)
}

// InWords makes a name of the protocol one for people.
func InWords(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", " ")) }

// Cut makes a text one as hosts take it, of so many bytes at the most.
func Cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "?")
	for end := most; len(text) > end; end-- {
		if utf8.RuneStart(text[end]) {
			return text[:end]
		}
	}
	return text
}

// Record is a pointer to a record.
type Record[M any] interface {
	*M
	protocol.Record
}

// Records reads rows, each of which is one record.
func Records[M any, P Record[M]](rows *protocol.Rows, add func(id uint64, m *M)) error {
	for row := range rows.All() {
		var m M
		if err := protocol.ReadRecord(row.Body, P(&m)); err != nil {
			return err
		}
		add(row.ID, &m)
	}
	return nil
}
