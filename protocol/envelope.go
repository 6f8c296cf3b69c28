package protocol

import "strconv"

// Every message is an array that begins with its kind and the id of the request that it belongs to.

// open reads the head of a message and leaves its fields to be read.
func (c *codec) open(payload []byte) (kind Kind, id uint64) {
	c.startReading(payload)
	n := c.arrayLen("")
	if c.err == nil && n < 2 {
		c.fail("", "an array of "+strconv.Itoa(n)+" items, where a kind and a request id come first")
	}
	if c.err != nil {
		return 0, 0
	}
	c.left = n
	var number uint64
	c.uint("kind", &number)
	if number > uint64(maxKind) {
		c.fail("kind", strconv.FormatUint(number, 10)+", at most "+strconv.Itoa(int(maxKind)))
		return 0, 0
	}
	c.uint("request_id", &id)
	c.opened = c.err == nil
	return Kind(number), id
}

// failKind says that nobody here knows what fields follow.
func (c *codec) failKind() {
	c.fail("kind", "not known here")
	c.err.UnknownKind = true
}

// close skips the fields that are not known here, sees that nothing follows the message, and returns what
// was found wrong with all of it.
func (c *codec) close(kind Kind, id uint64) error {
	if c.err == nil {
		c.skip(c.left)
	}
	if c.err == nil && c.in.rest() > 0 {
		c.fail("", strconv.Itoa(c.in.rest())+" bytes behind the message")
	}
	if c.err == nil {
		return nil
	}
	c.err.Kind, c.err.ID, c.err.HasID = kind, id, c.opened && id != 0
	return c.err
}
