// How the engine waits. Promises alone cannot be given up: every wait here belongs to a scope that can end it.

/** A promise with its ends. Its rejection counts as handled: whoever waits gets it. */
export class Deferred<T = void> {
  readonly promise: Promise<T>;
  settled = false;
  private fulfil!: (value: T) => void;
  private refuse!: (error: unknown) => void;

  constructor() {
    this.promise = new Promise<T>((fulfil, refuse) => {
      this.fulfil = fulfil;
      this.refuse = refuse;
    });
    this.promise.catch(() => undefined);
  }

  resolve(value: T): void {
    this.settled = true;
    this.fulfil(value);
  }

  reject(error: unknown): void {
    this.settled = true;
    this.refuse(error);
  }
}

/** The time for which something is waited for: an operation within a session, a session within a client. */
export class Scope {
  /** Why the scope has ended. */
  error: Error | undefined;
  private readonly open = new Set<{ reject(error: unknown): void }>();
  /** This scope and all around it. */
  private readonly all: Scope[];

  constructor(...outer: Scope[]) {
    this.all = [this, ...outer.flatMap((o) => o.all)];
  }

  /** Waits for a promise, but no longer than this scope and those around it last. */
  async wait<T>(d: Deferred<T>): Promise<T> {
    this.check();
    for (const s of this.all) s.open.add(d);
    try {
      return await d.promise;
    } finally {
      for (const s of this.all) s.open.delete(d);
    }
  }

  /** Throws if the scope, or one around it, has ended. */
  check(): void {
    for (const s of this.all) if (s.error !== undefined) throw s.error;
  }

  /** Ends the scope, and everything that waits in it. */
  end(error: Error): void {
    if (this.error !== undefined) return;
    this.error = error;
    for (const d of [...this.open]) d.reject(error);
  }

  /** Waits for a time. */
  async sleep(ms: number): Promise<void> {
    const d = new Deferred();
    const timer = setTimeout(() => d.resolve(), ms);
    try {
      await this.wait(d);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Runs something in a scope within this one that ends with an error after a time. */
  async within<T>(ms: number, error: () => Error, work: (scope: Scope) => Promise<T>): Promise<T> {
    const scope = new Scope(this);
    const timer = setTimeout(() => scope.end(error()), ms);
    try {
      return await work(scope);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Something that happens again and again, and that many wait for. */
export class News {
  count = 0;
  private waiting = new Set<Deferred>();

  report(): void {
    this.count++;
    const waiting = this.waiting;
    this.waiting = new Set();
    for (const d of waiting) d.resolve();
  }

  /** Resolves a promise once it has happened since a count. The returned function undoes that. */
  add(since: number, d: Deferred): () => void {
    if (this.count !== since) d.resolve();
    this.waiting.add(d);
    return () => this.waiting.delete(d);
  }
}
