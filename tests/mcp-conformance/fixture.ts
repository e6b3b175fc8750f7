/** What the inspector asks for, and a table whose only row cannot be divided by. */
export const SQL = `
  create table book (id int primary key, title text not null, price numeric(8,2));
  insert into book values (1, 'Wind', 4.50), (2, 'Ο Μεγάλος 书 "quoted"', null), (3, 'Sand', 12.00);
  create table zero (n int not null);
  insert into zero values (0);
`;

/**
 * The suite asks for tools by names that it prescribes. Those whose requirement a query can meet are here as
 * ordinary capabilities: what they are asked about must hold for every tool of the gateway (that a failure is
 * told as such, that nothing is logged or requested on the way to a result, that no task is made).
 */
export const CAPABILITIES = `
capabilities:
  list_books:
    description: Books by number
    sql: select id, title, price from book where id >= :from_id order by id
    params:
      from_id: { type: integer, required: true, minimum: 1 }
    result:
      id: { type: integer }
      title: { type: string }
      price: { type: number }
  test_simple_text:
    description: A short text
    sql: select 'This is a simple text response for testing.' as text
    result:
      text: { type: string }
  test_error_handling:
    description: Always fails in the database
    sql: select 1 / n as quotient from zero
    result:
      quotient: { type: integer }
  test_logging_tool:
    description: Has no log messages to send
    sql: select 'done' as text
    result:
      text: { type: string }
  test_streaming_elicitation:
    description: Has nothing to ask of the client
    sql: select 'done' as text
    result:
      text: { type: string }
  greet:
    description: Greets somebody
    sql: select 'Hello, ' || :name || '!' as text
    params:
      name: { type: string, required: true }
    result:
      text: { type: string }
  slow_compute:
    description: Answers in the call itself and never with a task
    sql: select :label::text as label, :seconds::int as seconds
    params:
      seconds: { type: integer, required: true }
      label: { type: string, required: true }
    result:
      label: { type: string }
      seconds: { type: integer }
`;

export const TOOLS: readonly string[] = [
  'list_books',
  'test_simple_text',
  'test_error_handling',
  'test_logging_tool',
  'test_streaming_elicitation',
  'greet',
  'slow_compute',
];
