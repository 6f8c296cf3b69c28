package object

import (
	"strings"
	"unicode/utf8"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
)

// Cut makes text acceptable to hosts: valid UTF-8 with at most the given number of bytes.
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
	field.Value
}

// Read appends a record's value at the given shard time in milliseconds.
func Read[M any, P Record[M]](list []M, record []byte, now uint64) ([]M, error) {
	var m M
	if err := protocol.ReadRecord(record, P(&m), now); err != nil {
		return list, err
	}
	return append(list, m), nil
}

// ReadRows appends the values from rows, one record per row.
func ReadRows[M any, P Record[M]](list []M, rows *protocol.Rows, now uint64) (_ []M, err error) {
	for row := range rows.All() {
		if list, err = Read[M, P](list, row.Body, now); err != nil {
			return list, err
		}
	}
	return list, nil
}

// Records decodes rows at the given shard time, one record per row.
func Records[M any, P Record[M]](rows *protocol.Rows, now uint64, add func(id uint64, m *M)) error {
	for row := range rows.All() {
		var m M
		if err := protocol.ReadRecord(row.Body, P(&m), now); err != nil {
			return err
		}
		add(row.ID, &m)
	}
	return nil
}
