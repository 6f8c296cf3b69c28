package protocol

// Semaphore is a semaphore without its owners and waiters.
type Semaphore struct {
	Name  []byte
	Limit uint64
	// Count is how much of the limit is owned.
	Count    uint64
	Revision uint64
	// Owners and Waiters are how many there are.
	Owners    uint64
	Waiters   uint64
	Ephemeral bool
	Data      []byte
}

func (s *Semaphore) item(c *codec) { c.record("", s.fields) }

func (s *Semaphore) fields(c *codec) {
	c.text("name", &s.Name, MaxNameBytes)
	c.uint("limit", &s.Limit)
	c.uint("count", &s.Count)
	c.uint("revision", &s.Revision)
	c.uint("owners", &s.Owners)
	c.uint("waiters", &s.Waiters)
	c.bool("ephemeral", &s.Ephemeral)
	c.data("data", &s.Data)
}

// Semaphores is a list of semaphores.
type Semaphores = List[Semaphore, *Semaphore]

// SemaphoreList asks for the semaphores of a node that one shard holds and whose name begins with
// Prefix, ordered by name. All semaphores of a node are the lists of all data shards.
type SemaphoreList struct {
	NodeID  uint64
	ShardID uint64
	Prefix  []byte
	// After is the Next of the page before; empty for the first page.
	After []byte
	// Limit is the most semaphores that the page may have; 0 leaves it to the host.
	Limit uint64
	// IncludeData asks for the semaphores' data.
	IncludeData bool
	Consistency Consistency
}

// Kind returns KindSemaphoreList.
func (*SemaphoreList) Kind() Kind { return KindSemaphoreList }

func (m *SemaphoreList) requestFields(c *codec) {
	c.uint("node_id", &m.NodeID)
	c.uint("shard_id", &m.ShardID)
	c.text("prefix", &m.Prefix, MaxNameBytes)
	c.text("after", &m.After, MaxNameBytes)
	c.uint("limit", &m.Limit)
	c.bool("include_data", &m.IncludeData)
	enum(c, "consistency", &m.Consistency)
}

// SemaphoreListAnswer answers a SemaphoreList.
type SemaphoreListAnswer struct {
	Semaphores Semaphores
	// Next is where the next page begins; empty where this is the last one.
	Next []byte
}

// Kind returns the kind of the answer to a SemaphoreList.
func (*SemaphoreListAnswer) Kind() Kind { return KindSemaphoreList.Answer() }

func (m *SemaphoreListAnswer) answerFields(c *codec) {
	m.Semaphores.list(c, "semaphores")
	c.text("next", &m.Next, MaxNameBytes)
}
